import { createPageServer } from '@uswarm/web/server';
import type { RequestHandler } from 'express';
import type { PageSettings } from './page-settings.js';

/** The page is served at the API's origin: besides the issuer, its content security policy allows no other origin. */
export function userPage({ issuer, clientId, scopes, issuerOrigins }: PageSettings): RequestHandler {
  const serve = createPageServer({ issuer, client_id: clientId, scopes, local: false }, issuerOrigins);
  return (request, response, next) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead || !serve(request.path, request, response)) next();
  };
}
