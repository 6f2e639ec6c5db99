# A container for `linnet serve`. Mount the folder of the models, and see docs/serving.md:
#   docker build -t linnet .
#   docker run -p 127.0.0.1:8000:8000 -v /srv/models:/models:ro -e LINNET_TOKEN linnet /models/reviews.linnet --workers 4
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/linnet-*.whl)[serve]" && useradd --create-home linnet
USER linnet
EXPOSE 8000
ENTRYPOINT ["linnet", "serve", "--host", "0.0.0.0"]
