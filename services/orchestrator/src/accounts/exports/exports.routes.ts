import type { Handler, Handlers } from '../../platform/http/handlers.js';
import { conditionsOf, savedFile } from '../../workspaces/uploads/download.js';
import type { ExportService } from './exports.service.js';

export function exportHandlers(service: ExportService) {
  const createExport: Handler<'createExport'> = async ({ actor }) => ({
    status: 202,
    body: { data: await service.request(actor.userId) },
  });

  const listExports: Handler<'listExports'> = async ({ actor }) => ({
    status: 200,
    body: { data: await service.list(actor.userId) },
  });

  const getExport: Handler<'getExport'> = async ({ actor, params: { id } }) => ({
    status: 200,
    body: { data: await service.get(actor.userId, id) },
  });

  const getExportArchive: Handler<'getExportArchive'> = async ({ params: { id }, query, headers, method }) => {
    const file = await service.download({ id, signature: query.sig, method, ...conditionsOf(headers) });
    const date = file.createdAt.toISOString().slice(0, 10);
    return file.workspaceId === null
      ? savedFile(file, `uswarm-export-${date}.zip`, 'application/zip')
      : savedFile(file, `workspace-${date}.uswarm`, 'application/vnd.uswarm.workspace+zip');
  };

  const createWorkspaceExport: Handler<'createWorkspaceExport'> = async ({ actor, params: { id } }) => ({
    status: 202,
    body: { data: await service.request(actor.userId, id) },
  });

  const listWorkspaceExports: Handler<'listWorkspaceExports'> = async ({ actor, params: { id } }) => ({
    status: 200,
    body: { data: await service.list(actor.userId, id) },
  });

  return {
    createExport,
    listExports,
    getExport,
    getExportArchive,
    createWorkspaceExport,
    listWorkspaceExports,
  } satisfies Partial<Handlers>;
}
