// PORT          the OpenAI protocol below /v1 (8080): repeats the last message. The text "Count <n> tokens" in it sets the
//               reported usage.
// CONTROL_PORT  GET /requests: a list of {authorization, model}, oldest first (8081)
import { createServer } from 'node:http';
import { startModelServer } from '../../../packages/dev-servers/dist/model/model-server.js';

const { CONTROL_PORT = '8081', PORT = '8080' } = process.env;

function textOf({ content }) {
  return typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('\n');
}

function script({ messages }) {
  const text = textOf(messages.at(-1));
  const [, counted] = /Count (\d+) tokens/.exec(text) ?? [];
  const usage = { prompt: Number(counted), completion: 1 };
  return [{ text: `The model received: ${text}` }, ...(counted === undefined ? [] : [{ usage }])];
}

const models = await startModelServer({ script, host: '0.0.0.0', port: Number(PORT) });
const control = createServer((request, response) => {
  if (request.method !== 'GET' || request.url !== '/requests') return response.writeHead(404).end();
  const received = models.requests.map(({ authorization, body }) => ({ authorization, model: body.model }));
  response.writeHead(200, { 'content-type': 'application/json' });
  return response.end(JSON.stringify(received));
});
control.listen(Number(CONTROL_PORT), () => console.log(JSON.stringify({ event: 'listening', port: Number(PORT) })));
process.once('SIGTERM', () => {
  void models.close();
  control.close();
  control.closeAllConnections();
});
