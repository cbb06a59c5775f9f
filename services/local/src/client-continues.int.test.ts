import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ModelServer } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { developmentToken, startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { startCountingModel } from '../test/counted-answer.js';
import { type RunningProgram, runLocalMode } from '../test/local.js';
import { modelSettings } from '../test/model-settings.js';
import { type Program, runProgram } from '../test/program.js';

describe('an app with @uswarm/client that is killed in the middle of an answer and started again', () => {
  let model: ModelServer;
  let local: RunningProgram;
  let folder: string;
  /** Sees the conversation of the same user. */
  let observer: TestClient;
  let apps: Program[];
  let settings: Record<string, string>;

  beforeAll(async () => {
    model = await startCountingModel();
    local = await runLocalMode(modelSettings(model));
  });
  afterAll(async () => {
    await local?.stop();
    await model?.close();
  });
  beforeEach(async () => {
    apps = [];
    folder = await mkdtemp(join(tmpdir(), 'uswarm-app-'));
    const email = `${randomUUID()}@example.com`;
    const token = await developmentToken(local.issuer, email);
    observer = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
    settings = { APP_URL: local.url, APP_EMAIL: email, APP_FILE: join(folder, 'store.json') };
    await writeFile(settings['APP_FILE']!, '[]');
  });
  afterEach(async () => {
    observer.close();
    for (const app of apps) await app.stop('SIGKILL');
    await rm(folder, { recursive: true });
  });

  function startApp(transport: string): Program {
    const app = runProgram('packages/client/test/app.mjs', [transport, 'Count to six'], settings);
    apps.push(app);
    return app;
  }

  it.each(['socket', 'sse'])(
    'shows the whole answer, and has sent its question once, with the transport %s',
    async (transport) => {
      const requests = model.requests.length;
      const hold = `middle-${requests}`;
      const first = startApp(transport);
      await first.printed(/one two three/);
      await first.stop('SIGKILL');
      const second = startApp(transport);
      await second.printed(/one two three/);
      model.release(hold);
      expect(await second.ended).toBe(0);
      expect(second.stdout().trim().split('\n').at(-1)).toBe('one two three four five six');
      const sent = observer.events.filter(
        ({ name, payload }) => name === 'message.new' && (payload['message'] as { role: string }).role === 'user',
      );
      await eventually(() => Promise.resolve(sent.length), { until: (count) => count > 0 });
      expect({ sent: sent.length, requests: model.requests.length - requests }).toEqual({ sent: 1, requests: 1 });
    },
  );
});
