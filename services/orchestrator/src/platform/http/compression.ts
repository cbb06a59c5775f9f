import compression from 'compression';
import type { RequestHandler } from 'express';

/** Compressing smaller bodies saves nothing. */
const THRESHOLD_BYTES = 1_024;

/** Compresses JSON with the encoding that the client prefers. Files and file ranges are not compressed. */
export function compressJson(): RequestHandler {
  return compression({
    threshold: THRESHOLD_BYTES,
    filter: (_request, response) =>
      !response.hasHeader('Accept-Ranges') && /^application\/json\b/.test(String(response.getHeader('Content-Type'))),
  });
}
