import { describe, expect, it } from '@jest/globals';
import { createMetrics, silentLogger, systemClock } from '@uswarm/service-kit';
import { createTriggersModule } from './triggers.module.js';

const UNUSED = {} as never;

/** A module with this setting. */
const createModule = (isOn: boolean) =>
  createTriggersModule({
    config: {
      TRIGGERS_ENABLED: isOn,
      SCHEDULE_WORKERS: 4,
      SCHEDULES_PER_USER: 50,
      PUBLIC_URL: undefined,
      CURSOR_KEY: 'k'.repeat(32),
      CURSOR_KEY_PREVIOUS: [],
      INTEGRATION_TOKEN_KEYS: undefined,
    },
    requests: UNUSED,
    messages: UNUSED,
    runs: UNUSED,
    storeFile: UNUSED,
    attachments: UNUSED,
    idempotency: UNUSED,
    rates: UNUSED,
    access: { require: () => Promise.resolve() },
    cipher: UNUSED,
    metrics: createMetrics('orchestrator'),
    clock: systemClock,
    logger: silentLogger,
  });

const codeOf = (call: Promise<unknown>) => call.catch((error: { code: string }) => error.code);

describe('triggers that the operator turned off', () => {
  it('have no workers, so that queued runs rest', () => {
    expect(createModule(false).urgentJobs).toEqual([]);
    expect(createModule(true).urgentJobs.map(({ type }) => type)).toEqual(['trigger']);
  });

  it('answer each route with triggers_not_enabled', async () => {
    const { routes } = createModule(false);
    const request = { actor: { userId: 'u' }, params: { workspaceId: 'w', id: 't' }, query: {}, headers: {}, body: {} };
    const refusals = await Promise.all(
      Object.values(routes).map((handle) => codeOf((handle as (input: unknown) => Promise<unknown>)(request))),
    );
    expect(refusals).toEqual(Object.keys(routes).map(() => 'triggers_not_enabled'));
  });

  it('refuse requests to their URLs before anything is read', async () => {
    const { receive } = createModule(false);
    const readBody = () => Promise.reject(new Error('the body was read'));
    expect(await codeOf(receive({ secret: 'x'.repeat(43), headers: {}, readBody }))).toBe('triggers_not_enabled');
  });
});
