import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { isCurrent } from './if-none-match.js';

/** Served file types. Builds leave other files beside them. */
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface StaticFilesOptions {
  /** Read once, with the folders in it. */
  folder: URL;
  /** Content security policy for each file. */
  policy: string;
  headers?: Readonly<Record<string, string>>;
  /** True for files whose name changes with their content: browsers keep them. Default: none. */
  isImmutable?: (name: string) => boolean;
}

export interface StaticFiles {
  /**
   * Answers GET and HEAD.
   *
   * @param name relative to the folder, such as `assets/page.js`. Never read from the file system
   * @returns false if the file is missing; then nothing is sent
   */
  send(name: string, request: IncomingMessage, response: ServerResponse): boolean;
}

/** Headers that keep a page from loading other code. */
export const pageHeaders = (policy: string): Record<string, string> => ({
  'content-security-policy': policy,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
});

/** @throws if the folder does not exist */
export function loadStaticFiles({ folder, policy, headers = {}, isImmutable }: StaticFilesOptions): StaticFiles {
  const root = fileURLToPath(folder);
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => extname(name) in TYPES);
  const files = new Map(
    names.map((path) => {
      const name = path.replaceAll(sep, '/');
      const isKept = isImmutable?.(name) ?? false;
      const own = {
        ...pageHeaders(policy),
        ...headers,
        'content-type': TYPES[extname(name)] ?? '',
        'cache-control': isKept ? 'public, max-age=31536000, immutable' : 'no-cache',
      };
      return [name, createFile(readFileSync(join(root, path)), own)];
    }),
  );
  return {
    send(name, request, response) {
      const file = files.get(name);
      if (file === undefined) return false;
      void file(request, response);
      return true;
    },
  };
}

/** All of these files are texts, so each is worth compressing. */
function createFile(bytes: Buffer, headers: Record<string, string>) {
  // Weak, because it names the file in both encodings.
  const etag = `W/"${createHash('sha256').update(bytes).digest('base64url')}"`;
  let compressed: Promise<Buffer> | undefined;
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.appendHeader('vary', 'Accept-Encoding');
    if (isCurrent(etag, request.headers['if-none-match'])) {
      response.writeHead(304, { ...headers, etag }).end();
      return;
    }
    const isCompressed = acceptsGzip(request.headers['accept-encoding']);
    // At the first request: compressing all files would delay the start.
    const body = isCompressed ? await (compressed ??= promisify(gzip)(bytes, { level: 9 })) : bytes;
    const encoding = isCompressed ? { 'content-encoding': 'gzip' } : {};
    // Node.js leaves out the body of an answer to HEAD.
    response.writeHead(200, { ...headers, ...encoding, etag, 'content-length': body.length }).end(body);
  };
}

const acceptsGzip = (header: string | string[] | undefined): boolean =>
  String(header ?? '')
    .split(',')
    .map((each) => each.split(';').map((part) => part.trim().toLowerCase()))
    .some(
      ([name = '', ...rules]) => ['gzip', '*'].includes(name) && !rules.some((rule) => /^q=0(?:\.0*)?$/.test(rule)),
    );
