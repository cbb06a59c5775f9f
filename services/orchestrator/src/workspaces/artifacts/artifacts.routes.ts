import { Readable } from 'node:stream';
import { isCurrent } from '@uswarm/service-kit';
import { NotModified } from '../../platform/http/conditional.js';
import { FileAnswer } from '../../platform/http/file-answer.js';
import type { Handler } from '../../platform/http/handlers.js';
import { cleanName, savedAs } from '../uploads/file-names.js';
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
  const getArtifactFile: Handler<'getArtifactFile'> = async ({ actor, params, query, headers }) => {
    const file = await service.file(actor.userId, params.workspaceId, params.id, query);
    const caching = { ETag: file.etag, 'Cache-Control': 'private, no-cache' };
    if (isCurrent(file.etag, headers['if-none-match'])) return new NotModified(caching);
    const { bytes, type, name } = await file.write();
    return new FileAnswer({
      status: 200,
      headers: {
        'Content-Type': type,
        'Content-Disposition': savedAs(cleanName(name)),
        'Content-Length': String(bytes.length),
        ...caching,
      },
      open: async () => Readable.from([bytes], { objectMode: false }),
    });
  };
  const deleteArtifact: Handler<'deleteArtifact'> = async ({ actor, params }) => {
    await service.delete(actor.userId, params.workspaceId, params.id);
    return { status: 204 };
  };
  return { listArtifacts, getArtifact, getArtifactFile, deleteArtifact };
}
