// PORT          the OpenAI protocol below /v1 (8080): repeats the last message. Words of the user change that:
//               "Count <n> tokens" sets the reported usage.
//               "Search <n> times for <word>" calls web_search_tool in n steps, with the queries "<word> 1" to "<word> <n>". The
//               first request after each search is not answered.
//               "Write <word>" calls create_artifact once, with this title.
// CONTROL_PORT  GET /requests: a list of {authorization, model, word, results}, oldest first (8081). `results`: the number of
//               tool results after "Search" or "Write".
import { createServer } from 'node:http';
import { startModelServer } from '../../../packages/dev-servers/dist/model/model-server.js';

const { CONTROL_PORT = '8081', PORT = '8080' } = process.env;
const PLAN = /(?:Search (\d+) times for|Write) ([\w-]+)/;

function textOf({ content }) {
  return typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('\n');
}

/** What the user asked for, and how much of it is done. Requests for titles and summaries have no tools. */
function planOf({ messages, tools = [] }) {
  if (tools.length === 0) return undefined;
  const at = messages.findLastIndex((message) => message.role === 'user' && PLAN.test(textOf(message)));
  if (at === -1) return undefined;
  const [, searches, word] = PLAN.exec(textOf(messages[at]));
  return {
    searches: Number(searches ?? 0),
    word,
    results: messages.slice(at).filter(({ role }) => role === 'tool').length,
  };
}

const unanswered = new Set();

function followPlan({ searches, word, results }) {
  const step = `${word} ${results}`;
  const isFirst = !unanswered.has(step);
  unanswered.add(step);
  if (searches === 0) {
    const call = { name: 'create_artifact', arguments: { title: word, content: 'The content.' } };
    return results === 0 ? [{ text: 'I will write it.' }, { toolCalls: [call] }] : [{ text: 'It is written.' }];
  }
  if (results > 0 && isFirst) return [{ text: 'I am thinking.' }, { hang: true }];
  const call = { name: 'web_search_tool', arguments: { query: `${word} ${results + 1}` } };
  return results < searches ? [{ text: `Part ${results}. ` }, { toolCalls: [call] }] : [{ text: 'The end.' }];
}

function script(body) {
  const plan = planOf(body);
  if (plan !== undefined) return followPlan(plan);
  const text = textOf(body.messages.at(-1));
  const [, counted] = /Count (\d+) tokens/.exec(text) ?? [];
  const usage = { prompt: Number(counted), completion: 1 };
  return [{ text: `The model received: ${text}` }, ...(counted === undefined ? [] : [{ usage }])];
}

const models = await startModelServer({ script, host: '0.0.0.0', port: Number(PORT) });
const control = createServer((request, response) => {
  if (request.method !== 'GET' || request.url !== '/requests') return response.writeHead(404).end();
  const received = models.requests.map(({ authorization, body }) => {
    const { word, results } = planOf(body) ?? {};
    return { authorization, model: body.model, word, results };
  });
  response.writeHead(200, { 'content-type': 'application/json' });
  return response.end(JSON.stringify(received));
});
control.listen(Number(CONTROL_PORT), () => console.log(JSON.stringify({ event: 'listening', port: Number(PORT) })));
process.once('SIGTERM', () => {
  void models.close();
  control.close();
  control.closeAllConnections();
});
