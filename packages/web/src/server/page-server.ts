import type { IncomingMessage, ServerResponse } from 'node:http';
import { loadStaticFiles, pageHeaders } from '@uswarm/service-kit';

/** Body of `GET /page.json`. */
export interface PageConfiguration {
  issuer: string;
  client_id: string;
  scopes: string;
  local: boolean;
}

/** `npm run build` writes it. */
const FOLDER = new URL('../../dist/page/', import.meta.url);
/** Page paths; src/app.tsx has its routes. */
const ROUTE =
  /^\/(?:w\/[^/]+(?:\/c\/[^/]+|\/agents|\/connections|\/usage|\/receipts)?|waiting|account|connected\/[^/]+|legal\/[^/]+|signed-in)?$/;

/** @param origins the page's token endpoints */
function policy(origins: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob:",
    `connect-src ${["'self'", ...new Set(origins)].join(' ')}`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
}

/**
 * Serves the page: its files, its configuration, and `index.html` for each of its routes.
 *
 * @param issuerOrigins further origins of the issuer's endpoints, for example for tokens
 * @returns a function that answers GET and HEAD, and returns false for all other paths, which belong to the API
 * @throws if the page was not built
 */
export function createPageServer(configuration: PageConfiguration, issuerOrigins: readonly string[] = []) {
  const allowed = policy([new URL(configuration.issuer).origin, ...issuerOrigins]);
  const headers = { 'cross-origin-opener-policy': 'same-origin' };
  // Asset names change with their content.
  const isImmutable = (name: string): boolean => name.startsWith('assets/');
  const files = loadStaticFiles({ folder: FOLDER, policy: allowed, headers, isImmutable });
  const json = Buffer.from(JSON.stringify(configuration));
  const jsonHeaders = {
    ...pageHeaders(allowed),
    ...headers,
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': json.length,
  };

  return (path: string, request: IncomingMessage, response: ServerResponse): boolean => {
    if (path !== '/page.json') return files.send(ROUTE.test(path) ? 'index.html' : path.slice(1), request, response);
    response.writeHead(200, jsonHeaders).end(json);
    return true;
  };
}
