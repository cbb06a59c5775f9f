import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { ApiError } from '@uswarm/contract';
import { type Request, type Response, Router } from 'express';
import { DocumentAnswer, sendDocument } from './document-answer.js';

/** `hack/reference-pages` writes it with each build. */
const FOLDER = new URL('../../reference-pages/', import.meta.url);

/** All files of the pages come from this service. Frameworks add rules to style sheets that are loaded, so none is inline. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** By file name, plain and compressed. */
type Files = ReadonlyMap<string, Record<'identity' | 'gzip', DocumentAnswer>>;

function loadFiles(): Files {
  const names = readdirSync(FOLDER).filter((name) => typeOf(name) !== undefined);
  return new Map(
    names.map((name) => {
      const bytes = readFileSync(new URL(name, FOLDER));
      const headers = {
        'Content-Type': typeOf(name) ?? '',
        'Content-Security-Policy': POLICY,
        'Cache-Control': 'no-cache',
        'Referrer-Policy': 'no-referrer',
        'X-Content-Type-Options': 'nosniff',
      };
      const compressed = gzipSync(bytes, { level: 9 });
      return [
        name,
        {
          identity: new DocumentAnswer(bytes, headers),
          gzip: new DocumentAnswer(compressed, { ...headers, 'Content-Encoding': 'gzip' }),
        },
      ];
    }),
  );
}

const typeOf = (name: string): string | undefined => TYPES[name.split('.').at(-1) ?? ''];

/**
 * The reference of the API for people: `/docs` (REST) and `/docs/realtime`, with their scripts, styles and icon. The pages read the
 * documents of this service.
 */
export function referencePages(): Router {
  let files: Files | undefined;
  const send = (name: string, request: Request, response: Response): void => {
    files ??= loadFiles();
    const found = files.get(name);
    if (found === undefined) throw new ApiError('route_not_found');
    response.vary('Accept-Encoding');
    sendDocument(request.acceptsEncodings('gzip') === 'gzip' ? found.gzip : found.identity, request, response);
  };
  const router = Router({ strict: true });
  router.get('/docs', (request, response) => send('rest.html', request, response));
  // The links of the page are relative to the address without a slash.
  router.get('/docs/', (_request, response) => response.redirect(308, '../docs'));
  router.get('/docs/realtime', (request, response) => send('realtime.html', request, response));
  router.get('/docs/:name', (request, response) => send(request.params.name, request, response));
  // Browsers ask for it on their own, for example for a JSON document.
  router.get('/favicon.ico', (request, response) => send('icon.svg', request, response));
  router.all(['/docs', '/docs/:name', '/favicon.ico'], (_request, response) => {
    response.set('Allow', 'GET, HEAD');
    throw new ApiError('method_not_allowed');
  });
  return router;
}
