import type { IncomingMessage, ServerResponse } from 'node:http';
import { DEVELOPMENT_CLIENT_ID } from '@uswarm/dev-servers';
import { createPageServer } from '@uswarm/web/server';
import { chatCommand, FIRST_QUESTION } from './commands.js';
import type { RunningLocal } from './running-local.js';

export type PageFacts = Pick<RunningLocal, 'url' | 'issuer' | 'model' | 'search' | 'dataDirectory' | 'environment'>;

/** Serves the pages of local mode. @returns false for all other paths, which belong to the API */
export type ServePage = (path: string, request: IncomingMessage, response: ServerResponse) => boolean;

const HEADERS = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
};

export function createPages(facts: PageFacts): ServePage {
  const servePage = createPageServer({
    issuer: facts.issuer,
    client_id: DEVELOPMENT_CLIENT_ID,
    scopes: 'openid email profile',
    local: true,
  });
  return (path, request, response) => {
    if (path !== '/developers') return servePage(path, request, response);
    const body = developersPage(facts);
    const headers = {
      ...HEADERS,
      'content-type': 'text/html; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    };
    response.writeHead(200, headers).end(body);
    return true;
  };
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

function developersPage(facts: PageFacts): string {
  const { url, issuer, model, search } = facts;
  const command = chatCommand(FIRST_QUESTION, facts);
  const [shownUrl, shownIssuer, shownModel, shownSearch, shownCommand] = [url, issuer, model, search(), command].map(
    escapeHtml,
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>uswarm for developers</title>
<link rel="icon" href="/icon.svg">
<style>
  :root { color-scheme: light dark; background: Canvas; color: CanvasText }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem }
  code, pre { font: 14px/1.5 ui-monospace, monospace }
  pre { padding: .8rem 1rem; border: 1px solid #8886; border-radius: 6px; white-space: pre-wrap }
  code, pre, dd { overflow-wrap: anywhere }
  dt { font-weight: 600 } dd { margin: 0 0 .6rem }
</style>
<main>
<h1>uswarm is running</h1>
<p><a href="/">Open the page</a>, or ask the swarm something in a second terminal:</p>
<pre>${shownCommand}</pre>
<p>Read the reference of the API: <a href="/docs">REST</a>, <a href="/docs/realtime">realtime</a>.</p>
<dl>
  <dt>REST</dt><dd><code>${shownUrl}/v1</code>, <a href="/v1/openapi.json">openapi.json</a></dd>
  <dt>Realtime</dt><dd>socket.io at <code>/socket.io/</code>, namespace <code>/v1</code>, <a href="/v1/asyncapi.json">asyncapi.json</a></dd>
  <dt>Identity</dt><dd><code>${shownIssuer}</code>, <a href="/dev/issuer/.well-known/openid-configuration">discovery</a></dd>
  <dt>Model</dt><dd>${shownModel}</dd>
  <dt>Search</dt><dd>${shownSearch}</dd>
</dl>
<p>An ID token for anybody you like, then a first call:</p>
<pre>TOKEN=$(curl -s ${shownIssuer}/dev/token -H 'content-type: application/json' \\
  -d '{"email":"ada@example.com","name":"Ada"}' | sed 's/.*"id_token":"\\([^"]*\\)".*/\\1/')
curl -X POST ${shownUrl}/v1/auth/sign-up -H "X-Token: $TOKEN"
curl ${shownUrl}/v1/workspaces -H "X-Token: $TOKEN"</pre>
</main>
</html>
`;
}
