import { describe, expect, it } from '@jest/globals';
import { silentLogger, systemClock } from '@uswarm/service-kit';
import { loadTools } from '../../platform/core/catalog.js';
import { createSchedulesModule, createScheduleToolsOn } from './schedules.module.js';

const UNUSED = {} as never;
const settings = (isOn: boolean) => ({
  SCHEDULES_ENABLED: isOn,
  SCHEDULES_PER_USER: 50,
  SCHEDULE_INTERVAL_S: 900,
  SCHEDULES_SPREAD_S: 60,
  SCHEDULE_WORKERS: 4,
  CURSOR_KEY: 'k'.repeat(32),
  CURSOR_KEY_PREVIOUS: [],
});

/** Tools and jobs of a module with this setting. */
function createModule(isOn: boolean) {
  const config = settings(isOn);
  const { routes, urgentJobs } = createSchedulesModule({
    config,
    requests: UNUSED,
    messages: UNUSED,
    runs: UNUSED,
    idempotency: UNUSED,
    rates: UNUSED,
    access: { require: () => Promise.resolve() },
    clock: systemClock,
    logger: silentLogger,
  });
  const entries = loadTools({ INTEGRATION_PROVIDERS: {}, CODE_RUNNER_ENABLED: false, SCHEDULES_ENABLED: isOn });
  return {
    routes,
    jobs: urgentJobs.map(({ type }) => type),
    tools: createScheduleToolsOn({ config, background: UNUSED, clock: systemClock }).map(({ name }) => name),
    hasEntry: entries.some(({ name }) => name === 'schedules'),
  };
}

describe('schedules that the operator turned off', () => {
  it('have neither workers nor tools, so that due ones rest', () => {
    const { jobs, tools, hasEntry } = createModule(false);
    expect({ jobs, tools, hasEntry }).toEqual({ jobs: [], tools: [], hasEntry: false });
    expect(createModule(true)).toMatchObject({
      jobs: ['schedule'],
      tools: ['create_schedule', 'list_schedules', 'change_schedule', 'delete_schedule'],
      hasEntry: true,
    });
  });

  it('answer each route with schedules_not_enabled', async () => {
    const { routes } = createModule(false);
    const request = { actor: { userId: 'u' }, params: { workspaceId: 'w', id: 's' }, query: {}, headers: {}, body: {} };
    const refusals = await Promise.all(
      Object.values(routes).map((handle) =>
        (handle as (input: unknown) => Promise<unknown>)(request).catch((error: { code: string }) => error.code),
      ),
    );
    expect(refusals).toEqual(Object.keys(routes).map(() => 'schedules_not_enabled'));
  });
});
