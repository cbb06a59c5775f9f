import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

/** What `GET /page.json` returns. */
export interface PageConfiguration {
  issuer: string;
  client_id: string;
  scopes: string;
  local: boolean;
}
type File = { plain: Buffer; isCompressible: boolean; headers: Record<string, string> };

/** `npm run build` writes it. */
const FOLDER = fileURLToPath(new URL('../../dist/page', import.meta.url));
/** The paths of the page; src/app.tsx has its routes. */
const ROUTE =
  /^\/(?:w\/[^/]+(?:\/c\/[^/]+|\/agents|\/connections|\/usage|\/receipts)?|waiting|account|connected\/[^/]+|legal\/[^/]+|signed-in)?$/;
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** @param issuer which the page asks for tokens */
function policy(issuer: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob:",
    `connect-src 'self' ${new URL(issuer).origin}`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
}

function loadFiles(security: Record<string, string>): Map<string, File> {
  const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll(sep, '/'));
  return new Map(
    names.flatMap((name) => {
      const type = TYPES[extname(name)];
      if (type === undefined) return [];
      const plain = readFileSync(join(FOLDER, name));
      // The names of assets change with their content.
      const cache = name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache';
      const headers = { ...security, 'content-type': type, 'cache-control': cache };
      return [[`/${name}`, { plain, isCompressible: true, headers }]];
    }),
  );
}

/**
 * Serves the page: its files, its configuration, and `index.html` for each of its routes.
 *
 * @returns a function that answers GET and HEAD, and returns false for all other paths, which belong to the API
 * @throws if the page was not built
 */
export function createPageServer(configuration: PageConfiguration) {
  const security = {
    'content-security-policy': policy(configuration.issuer),
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  };
  const files = loadFiles(security);
  const json = Buffer.from(JSON.stringify(configuration));
  const headers = { ...security, 'content-type': 'application/json', 'cache-control': 'no-store' };
  files.set('/page.json', { plain: json, isCompressible: false, headers });

  const compressed = new Map<File, Buffer>();
  /** At the first request of the file: all of them would delay the start. */
  function compress(file: File): Buffer {
    const known = compressed.get(file) ?? gzipSync(file.plain, { level: 9 });
    compressed.set(file, known);
    return known;
  }

  return (path: string, request: IncomingMessage, response: ServerResponse): boolean => {
    const file = files.get(ROUTE.test(path) ? '/index.html' : path);
    if (file === undefined) return false;
    const isCompressed = file.isCompressible && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    const body = isCompressed ? compress(file) : file.plain;
    response.appendHeader('vary', 'Accept-Encoding');
    response
      .writeHead(200, {
        ...file.headers,
        ...(isCompressed && { 'content-encoding': 'gzip' }),
        'content-length': body.length,
      })
      .end(body);
    return true;
  };
}
