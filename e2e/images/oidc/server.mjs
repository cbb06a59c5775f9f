// ISSUER_URL  as services and clients know it, for instance http://oidc.e2e-oidc.svc.cluster.local:8080
// PORT        where it listens (8080)
// AUDIENCE    of the tokens of /dev/token (the app's client id)
// REDIRECT_URIS for the app besides those on this machine, separated by spaces
// KEYS_FILE   keeps the keys between starts; without it they are new each time
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { DEVELOPMENT_CLIENT_ID, startOidcIssuer } from '../../../packages/dev-servers/dist/oidc/oidc.js';

const { AUDIENCE = DEVELOPMENT_CLIENT_ID, ISSUER_URL, KEYS_FILE, PORT = '8080', REDIRECT_URIS = '' } = process.env;
if (!ISSUER_URL) throw new Error('ISSUER_URL is not set');

const oidc = await startOidcIssuer({
  issuerUrl: ISSUER_URL,
  redirectUris: REDIRECT_URIS.split(' ').filter((uri) => uri !== ''),
  ...(KEYS_FILE ? { keysFile: KEYS_FILE } : {}),
});
const tokenPath = new URL('dev/token', `${oidc.issuer}/`).pathname;

// The issuer's own gives tokens to its own machine only; here the caller is another pod.
// More fields are taken: subject, audience, expiresInSeconds, issuer, claims.
async function giveToken(request, response) {
  const wanted = { audience: AUDIENCE, ...(await json(request)) };
  if (!wanted.email || !wanted.name) throw new Error('email and name are needed');
  const id_token = await oidc.issueToken(wanted);
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify({ id_token }));
}

const server = createServer((request, response) => {
  const path = request.url.split('?')[0];
  if (path === '/healthz') response.end('OK\n');
  else if (path === tokenPath && request.method === 'POST') {
    giveToken(request, response).catch((error) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: 'invalid_request', error_description: error.message }));
    });
  } else oidc.listener(request, response);
});

server.listen(Number(PORT), () =>
  console.log(JSON.stringify({ event: 'listening', port: Number(PORT), issuer: oidc.issuer })),
);
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
