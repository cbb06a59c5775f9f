# One image for each service. `npm run images` prepares the context (hack/images), so nothing is
# installed in here, no command runs, and the classic builder and BuildKit do the same.
# Distroless tags are not tied to a version of Node: the digest is what counts.
ARG BASE_IMAGE=gcr.io/distroless/nodejs24-debian12:nonroot@sha256:14d42e2511532589a7c7e01a753667a74fcc96266e137e8125006b87b0c32d0a
FROM ${BASE_IMAGE}

# /nodejs/bin is where distroless has node; images with node elsewhere on the usual path work as well.
ENV PATH=/nodejs/bin:/usr/local/sbin:/usr/local/bin:/usr/bin:/bin
ENV NODE_ENV=production
ARG NODE_OPTIONS
ENV NODE_OPTIONS=${NODE_OPTIONS}
# Compiled code from the build; a process with another Node, processor or user compiles for itself.
ENV NODE_COMPILE_CACHE=/app/compile-cache
ENV NODE_COMPILE_CACHE_PORTABLE=1
# Fewer heaps of the C library: each thread would get its own.
ENV MALLOC_ARENA_MAX=2
WORKDIR /app
# Licences of the packages first: they seldom change.
COPY modules/ ./
COPY app/ ./

USER 65532:65532
ENTRYPOINT ["node"]
CMD ["/app/dist/main.js"]

ARG TITLE
ARG DESCRIPTION
ARG VERSION
ARG REVISION
ARG BASE_NAME
ARG CONTENT
LABEL org.opencontainers.image.title="${TITLE}" \
      org.opencontainers.image.description="${DESCRIPTION}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="${BASE_NAME}" \
      dev.uswarm.content="${CONTENT}"
