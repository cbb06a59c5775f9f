// Runs in the pod of `helm test`: calls each component of the release and reports unexpected responses.
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const { ORCHESTRATOR_URL, GATEWAY_URL, WEBHOOK_URL, TOOL_URL, SEARCH_URL, RUNTIME_NAMESPACE } = process.env;
/** Unset without a model gateway. */
const { MODEL_GATEWAY_URL } = process.env;
/** Unset if the page is not served. */
const { PAGE_CLIENT_ID } = process.env;
const { SYNC_TOKEN_FILE } = process.env;
const SYNC_TOKEN = SYNC_TOKEN_FILE
  ? readFileSync(SYNC_TOKEN_FILE, 'utf8').replace(/\r?\n$/, '')
  : process.env.SYNC_TOKEN;
/** An address that no NetworkPolicy allows for this pod; unset without policies. */
const { CLOSED_ADDRESS } = process.env;
const DEADLINE_MS = Number(process.env.DEADLINE_MS ?? 60_000);
const API_SERVER = '/var/run/secrets/kubernetes.io/serviceaccount';

const workspace = {
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name: 'workspace-helm-test', uid: '00000000-0000-4000-8000-000000000000', generation: 1 },
  spec: {
    userId: 'helm-test',
    placement: { runtimeNamespace: RUNTIME_NAMESPACE },
    runtime: { port: 42618 },
    config: {},
    suspend: false,
  },
};
/** A sync request. Rendering is a pure function, so it creates nothing. */
const sync = {
  controller: { apiVersion: 'uswarm.dev/v1alpha1', kind: 'Controller', metadata: { name: 'helm-test' } },
  parent: workspace,
  children: { 'ServiceAccount.v1': {}, 'Service.v1': {}, 'Deployment.apps/v1': {} },
  related: {},
  finalizing: false,
};

const checks = {
  'the orchestrator is online': async () => {
    const { data } = await json(`${ORCHESTRATOR_URL}/v1/health`);
    if (data?.online !== true) throw new Error(`unexpected response ${JSON.stringify(data)}`);
  },
  ...(PAGE_CLIENT_ID !== undefined && {
    'the orchestrator serves the page': async () => {
      const { client_id } = await json(`${ORCHESTRATOR_URL}/page.json`);
      if (client_id !== PAGE_CLIENT_ID) throw new Error(`unexpected client ${JSON.stringify(client_id)}`);
      const body = await (await call(`${ORCHESTRATOR_URL}/`)).text();
      if (!body.includes('<div id="root">')) throw new Error(`unexpected response ${body.slice(0, 200)}`);
    },
  }),
  'the gateway speaks socket.io': async () => {
    const response = await call(`${GATEWAY_URL}/socket.io/?EIO=4&transport=polling`);
    const body = await response.text();
    // socket.io also reports a disabled transport or a forbidden origin, as an object with a code.
    if (!/^0?\{"(sid|code)":/.test(body)) throw new Error(`HTTP ${response.status}: ${body.slice(0, 200)}`);
  },
  'the gateway serves streams': async () => {
    const response = await call(`${GATEWAY_URL}/v1/stream`);
    const body = await response.text();
    if (!body.includes('"validation_failed"')) throw new Error(`HTTP ${response.status}: ${body.slice(0, 200)}`);
  },
  'the webhook is healthy': async () => {
    const response = await call(`${WEBHOOK_URL}/healthz`);
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
  },
  'the webhook requires a token': async () => {
    const response = await post(`${WEBHOOK_URL}/sync`, sync, {});
    if (response.status !== 401) throw new Error(`HTTP ${response.status}`);
  },
  'the webhook renders a workspace': async () => {
    const response = await post(`${WEBHOOK_URL}/sync`, sync, { authorization: `Bearer ${SYNC_TOKEN}` });
    const body = await response.text();
    if (!response.ok) throw new Error(`HTTP ${response.status}: ${body.slice(0, 500)}`);
    const kinds = JSON.parse(body).children.map(({ kind }) => kind);
    if (!['Deployment', 'Service', 'ServiceAccount'].every((kind) => kinds.includes(kind))) {
      throw new Error(`unexpected response ${body.slice(0, 500)}`);
    }
  },
  'the search tool requires a token': async () => {
    const response = await post(`${TOOL_URL}/mcp`, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, {});
    if (response.status !== 401) throw new Error(`HTTP ${response.status}`);
  },
  ...(MODEL_GATEWAY_URL === undefined ? {} : { 'the model gateway requires a token': modelCallsNeedTokens }),
  'the search service answers in JSON': async () => {
    const { results } = await json(`${SEARCH_URL}/search?q=uswarm&format=json`);
    if (!Array.isArray(results)) throw new Error('the response has no results');
  },
  'the API server serves UserSwarms': async () => {
    const { resources = [] } = await apiServer('/apis/uswarm.dev/v1alpha1');
    if (!resources.some(({ kind }) => kind === 'UserSwarm')) throw new Error('the CRD is not installed');
  },
  ...(CLOSED_ADDRESS === undefined ? {} : { 'NetworkPolicies are enforced': networkIsClosed }),
};

async function modelCallsNeedTokens() {
  const response = await post(`${MODEL_GATEWAY_URL}/openai/v1/chat/completions`, {}, {});
  if (response.status !== 401) throw new Error(`HTTP ${response.status}`);
}

async function networkIsClosed() {
  if (!(await opens(CLOSED_ADDRESS))) return;
  throw new Error(
    `${CLOSED_ADDRESS} is reachable: no network plug-in enforces NetworkPolicies, so every pod can reach every other ` +
      'pod. To accept this, set networkPolicy.enabled=false',
  );
}

/** Whether a connection opens. Plug-ins either reject or drop forbidden connections. */
function opens(address) {
  const [host, port] = address.split(':');
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), timeout: 3_000 });
    const settle = (value) => {
      socket.destroy();
      resolve(value);
    };
    socket.on('connect', () => settle(true));
    socket.on('timeout', () => settle(false));
    socket.on('error', () => settle(false));
  });
}

function call(url, options = {}) {
  return fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(15_000), ...options });
}

function post(url, body, headers) {
  return call(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify(body),
  });
}

async function json(url) {
  const response = await call(url, { headers: { accept: 'application/json' } });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return response.json();
}

/** Calls discovery, which is open to every account. */
function apiServer(path) {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  const ca = readFileSync(`${API_SERVER}/ca.crt`);
  const headers = {
    authorization: `Bearer ${readFileSync(`${API_SERVER}/token`, 'utf8')}`,
    accept: 'application/json',
  };
  return new Promise((resolve, reject) => {
    request({ host, port, path, ca, headers, timeout: 15_000 }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode !== 200) return reject(new Error(`HTTP ${response.statusCode}`));
        return resolve(JSON.parse(Buffer.concat(chunks).toString()));
      });
    })
      .on('error', reject)
      .on('timeout', function () {
        this.destroy(new Error('the API server is unreachable'));
      })
      .end();
  });
}

/** Retries until the deadline, because DNS and routes may not be ready right after an installation. */
async function passes(check, deadline) {
  for (;;) {
    try {
      await check();
      return undefined;
    } catch (error) {
      if (performance.now() > deadline) return error.cause?.message ?? error.message;
      await sleep(1_000);
    }
  }
}

const deadline = performance.now() + DEADLINE_MS;
const outcomes = await Promise.all(
  Object.entries(checks).map(async ([name, check]) => ({ name, failure: await passes(check, deadline) })),
);
for (const { name, failure } of outcomes)
  console.log(failure === undefined ? `ok      ${name}` : `FAILED  ${name}: ${failure}`);
process.exitCode = outcomes.some(({ failure }) => failure !== undefined) ? 1 : 0;
