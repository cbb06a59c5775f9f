import { ApiError } from '@uswarm/contract';
import { loadStaticFiles, type StaticFiles } from '@uswarm/service-kit';
import { type Request, type Response, Router } from 'express';

/** `hack/reference-pages` writes it with each build. */
const FOLDER = new URL('../../../reference-pages/', import.meta.url);

/**
 * All the pages' files come from this service. Frameworks add rules to style sheets that are loaded, so none is inline.
 */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Serves the API reference for people: `/docs` (REST) and `/docs/realtime`, with their scripts, styles and icon. The
 * pages read this service's documents.
 */
export function referencePages(): Router {
  let files: StaticFiles | undefined;
  const send = (name: string, request: Request, response: Response): void => {
    files ??= loadStaticFiles({ folder: FOLDER, policy: POLICY });
    if (!files.send(name, request, response)) throw new ApiError('route_not_found');
  };
  const router = Router({ strict: true });
  router.get('/docs', (request, response) => send('rest.html', request, response));
  // The page's links are relative to the address without a slash.
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
