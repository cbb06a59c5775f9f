import type { Handler } from '../../platform/http/handlers.js';
import type { ScheduleService } from './schedules.service.js';

export function scheduleHandlers(service: ScheduleService) {
  const listSchedules: Handler<'listSchedules'> = async ({ actor, params, query }) => ({
    status: 200,
    body: await service.list(actor.userId, params.workspaceId, query),
  });
  const createSchedule: Handler<'createSchedule'> = async ({ actor, params, headers, body }) => ({
    status: 201,
    body: {
      data: await service.create({ userId: actor.userId, key: headers['idempotency-key'] }, params.workspaceId, body),
    },
  });
  const getSchedule: Handler<'getSchedule'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.get(actor.userId, params.workspaceId, params.id) },
  });
  const updateSchedule: Handler<'updateSchedule'> = async ({ actor, params, body }) => ({
    status: 200,
    body: { data: await service.update(actor.userId, params.workspaceId, params.id, body) },
  });
  const deleteSchedule: Handler<'deleteSchedule'> = async ({ actor, params }) => {
    await service.remove(actor.userId, params.workspaceId, params.id);
    return { status: 204 };
  };
  const pauseSchedule: Handler<'pauseSchedule'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.pause(actor.userId, params.workspaceId, params.id) },
  });
  const resumeSchedule: Handler<'resumeSchedule'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.resume(actor.userId, params.workspaceId, params.id) },
  });
  const runSchedule: Handler<'runSchedule'> = async ({ actor, params }) => ({
    status: 201,
    body: { data: await service.run(actor.userId, params.workspaceId, params.id) },
  });
  const listScheduleRuns: Handler<'listScheduleRuns'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.runs(actor.userId, params.workspaceId, params.id) },
  });
  return {
    listSchedules,
    createSchedule,
    getSchedule,
    updateSchedule,
    deleteSchedule,
    pauseSchedule,
    resumeSchedule,
    runSchedule,
    listScheduleRuns,
  };
}
