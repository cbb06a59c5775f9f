import type { Handler } from '../../platform/http/handlers.js';
import type { UserActor } from '../../accounts/auth/actor.js';
import type { TriggerPath } from './trigger-access.js';
import type { TriggerService } from './triggers.service.js';

type Path = Pick<TriggerPath, 'workspaceId' | 'id'>;

const pathOf = ({ actor, params }: { actor: UserActor; params: Path }): TriggerPath => ({
  userId: actor.userId,
  workspaceId: params.workspaceId,
  id: params.id,
});

export function triggerHandlers(service: TriggerService) {
  const listTriggers: Handler<'listTriggers'> = async ({ actor, params, query }) => ({
    status: 200,
    body: await service.list(actor.userId, params.workspaceId, query),
  });
  const createTrigger: Handler<'createTrigger'> = async ({ actor, params, body }) => ({
    status: 201,
    body: { data: await service.create(actor.userId, params.workspaceId, body) },
  });
  const getTrigger: Handler<'getTrigger'> = async (input) => ({
    status: 200,
    body: { data: await service.get(pathOf(input)) },
  });
  const updateTrigger: Handler<'updateTrigger'> = async (input) => ({
    status: 200,
    body: { data: await service.update(pathOf(input), input.body) },
  });
  const deleteTrigger: Handler<'deleteTrigger'> = async (input) => {
    await service.remove(pathOf(input));
    return { status: 204 };
  };
  const pauseTrigger: Handler<'pauseTrigger'> = async (input) => ({
    status: 200,
    body: { data: await service.pause(pathOf(input)) },
  });
  const resumeTrigger: Handler<'resumeTrigger'> = async (input) => ({
    status: 200,
    body: { data: await service.resume(pathOf(input)) },
  });
  const rotateTriggerUrl: Handler<'rotateTriggerUrl'> = async (input) => ({
    status: 200,
    body: { data: await service.rotateUrl(pathOf(input)) },
  });
  const setTriggerSigning: Handler<'setTriggerSigning'> = async (input) => ({
    status: 200,
    body: { data: { secret: await service.requireSignature(pathOf(input), input.body.secret) } },
  });
  const removeTriggerSigning: Handler<'removeTriggerSigning'> = async (input) => {
    await service.removeSignature(pathOf(input));
    return { status: 204 };
  };
  const listTriggerRuns: Handler<'listTriggerRuns'> = async (input) => ({
    status: 200,
    body: { data: await service.runs(pathOf(input)) },
  });
  return {
    listTriggers,
    createTrigger,
    getTrigger,
    updateTrigger,
    deleteTrigger,
    pauseTrigger,
    resumeTrigger,
    rotateTriggerUrl,
    setTriggerSigning,
    removeTriggerSigning,
    listTriggerRuns,
  };
}
