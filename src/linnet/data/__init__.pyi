from linnet.data.dataset import Dataset as Dataset
from linnet.data.input_file import Unusable as Unusable
from linnet.data.input_file import UnusableRow as UnusableRow
from linnet.data.reading import Batch as Batch
from linnet.data.reading import read as read
from linnet.data.reading import stream as stream
