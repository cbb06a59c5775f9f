// GET    /search?q=  {"results": [{title, url, content}, …]}, or what PUT /results asked for
// PUT    /results    the list of results, or {"status": 503}, or {"hang": true}; with ?q=word for queries with that word
// GET    /queries    a list of the queries that arrived, oldest first
// DELETE /results    back to nothing: no results, no queries
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

const { PORT = '8080' } = process.env;

let answers = [];
let queries = [];

function answerOf(query) {
  const special = answers.findLast(({ word }) => word !== '' && query.includes(word));
  return (special ?? answers.findLast(({ word }) => word === ''))?.answer ?? [];
}

async function configure(request, url) {
  const answer = await json(request);
  const known = Array.isArray(answer) || answer.hang === true || Number.isInteger(answer.status);
  if (!known) throw new Error('a list of results, a status or hang is needed');
  const word = url.searchParams.get('q') ?? '';
  answers = [...answers.filter((each) => each.word !== word), { word, answer }];
}

function send(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function search(response, query) {
  queries.push(query);
  const answer = answerOf(query);
  if (Array.isArray(answer)) send(response, 200, { results: answer });
  else if (!answer.hang) send(response, answer.status, {});
}

async function route(request, response) {
  const url = new URL(request.url, 'http://upstream');
  const asked = `${request.method} ${url.pathname}`;
  if (asked === 'GET /search') search(response, url.searchParams.get('q') ?? '');
  else if (asked === 'GET /queries') send(response, 200, queries);
  else if (asked === 'GET /healthz') send(response, 200, {});
  else if (asked === 'PUT /results') {
    await configure(request, url);
    response.writeHead(204).end();
  } else if (asked === 'DELETE /results') {
    answers = [];
    queries = [];
    response.writeHead(204).end();
  } else send(response, 404, {});
}

const server = createServer((request, response) => {
  route(request, response).catch((error) => send(response, 400, { error: error.message }));
});
server.listen(Number(PORT), () => console.log(JSON.stringify({ event: 'listening', port: Number(PORT) })));
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
