import type { FormLimits } from '../../platform/http/form.js';
import type { Handler, Handlers } from '../../platform/http/handlers.js';
import type { ImportService } from './imports.service.js';

export function importHandlers(service: ImportService, limits: FormLimits) {
  const createWorkspaceImport: Handler<'createWorkspaceImport'> = async ({ actor, form }) => ({
    status: 202,
    body: { data: await form.receiveFile(limits, (file) => service.receive(actor.userId, file)) },
  });

  const getWorkspaceImport: Handler<'getWorkspaceImport'> = async ({ actor, params: { id } }) => ({
    status: 200,
    body: { data: await service.get(actor.userId, id) },
  });

  return { createWorkspaceImport, getWorkspaceImport } satisfies Partial<Handlers>;
}
