import type { RequestListener } from 'node:http';
import { listen, type ListenOptions, type RunningServer } from './http-server.js';
import type { Registry } from './metrics.js';

export interface OpsOptions {
  metrics: Registry;
  /** True if the process can serve traffic; a rejection counts as not ready. */
  ready: () => Promise<boolean> | boolean;
}

/** Serves `/livez`, `/readyz` and `/metrics` (Prometheus text format). */
function opsHandler({ metrics, ready }: OpsOptions): RequestListener {
  return (request, response) => {
    const path = (request.url ?? '').split('?')[0];
    const answer = (status: number, body: string, type = 'text/plain; charset=utf-8'): void => {
      response.writeHead(status, { 'content-type': type }).end(body);
    };
    if (path === '/livez') answer(200, 'ok\n');
    else if (path === '/readyz') {
      Promise.resolve()
        .then(ready)
        .catch(() => false)
        .then((isReady) => answer(isReady ? 200 : 503, isReady ? 'ok\n' : 'not ready\n'));
    } else if (path === '/metrics') {
      metrics.metrics().then(
        (text) => answer(200, text, metrics.contentType),
        () => answer(500, 'metrics failed\n'),
      );
    } else answer(404, 'not found\n');
  };
}

export function startOpsServer(options: OpsOptions & ListenOptions): Promise<RunningServer> {
  return listen(opsHandler(options), options);
}
