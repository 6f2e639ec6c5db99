"""The parts of tools/hostile.py: bad inputs, processes that are watched, altered model files, kills and full disks."""
