import type { Handler } from '../../platform/http/handlers.js';
import type { ArtifactService } from './artifacts.service.js';

export function artifactHandlers(service: ArtifactService) {
  const listArtifacts: Handler<'listArtifacts'> = async ({ actor, params, query }) => ({
    status: 200,
    body: await service.list(actor.userId, params.workspaceId, query),
  });
  const getArtifact: Handler<'getArtifact'> = async ({ actor, params, query }) => ({
    status: 200,
    body: { data: await service.get(actor.userId, params.workspaceId, params.id, query.version) },
  });
  const deleteArtifact: Handler<'deleteArtifact'> = async ({ actor, params }) => {
    await service.delete(actor.userId, params.workspaceId, params.id);
    return { status: 204 };
  };
  return { listArtifacts, getArtifact, deleteArtifact };
}
