import { LIMITS } from '@uswarm/contract';
import type { FileWriter } from '@uswarm/file-writer';
import type { OrchestratorConfig } from '../../config.js';
import type { Connections } from '../../records/connections.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import { createListCursors } from '../../records/list-cursor.js';
import { createSafeMarkdown } from '../../turns/content/reply-text.js';
import { createContentRetention } from '../../records/content-objects.js';
import type { ObjectStore } from '../../records/object-store.js';
import type { WorkspaceAccess } from '../workspace-access.js';
import { ARTIFACT_OBJECT_JOB, createArtifactContents } from './artifact-contents.js';
import { createArtifactTools } from './artifact-tools.js';
import { artifactHandlers } from './artifacts.routes.js';
import { createArtifactService } from './artifacts.service.js';
import { findArtifact, hasArtifactObject } from './artifacts.store.js';

export interface ArtifactsModuleDeps {
  config: Pick<OrchestratorConfig, 'CURSOR_KEY' | 'CURSOR_KEY_PREVIOUS' | 'PUBLIC_URL'>;
  requests: Pick<Connections, 'database' | 'withTransaction' | 'jobs'>;
  /** For tool calls and jobs. */
  background: Pick<Connections, 'database' | 'withTransaction' | 'jobs'>;
  objects: ObjectStore;
  access: WorkspaceAccess;
  writer: FileWriter;
}

export function createArtifactsModule({ config, requests, background, objects, access, writer }: ArtifactsModuleDeps) {
  const retention: JobDefinition = {
    type: ARTIFACT_OBJECT_JOB,
    handle: createContentRetention({ ...background, hasObject: hasArtifactObject, objects }),
  };
  const service = createArtifactService({
    withTransaction: requests.withTransaction,
    database: requests.database,
    contents: createArtifactContents({ ...requests, objects }),
    access,
    writer,
    markdown: createSafeMarkdown(config.PUBLIC_URL),
    cursors: createListCursors('artifacts', config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS),
  });
  const contents = createArtifactContents({ ...background, objects });
  return {
    service,
    routes: artifactHandlers(service),
    async byId(workspaceId: string, id: string) {
      const found = await findArtifact(background.database, workspaceId, id);
      return found && { title: found.title, version: found.version, content: await contents.read(found.object_id) };
    },
    tools: createArtifactTools({
      database: background.database,
      contents,
      limits: {
        perWorkspace: LIMITS.artifactsPerWorkspace,
        versions: LIMITS.artifactVersions,
        bytes: LIMITS.artifactBytes,
      },
    }),
    jobs: [retention],
  };
}
