import { type ContentObjectsDeps, createContentObjects } from '../../records/content-objects.js';
import type { ToolCall } from '../../turns/tools/platform-tool.js';

/** Job type that deletes a version's content after the version was deleted, or never committed. */
export const ARTIFACT_OBJECT_JOB = 'artifact-object';

export interface ArtifactContents {
  /** Repeating a call stores the same object. @returns the object's key */
  put(call: Pick<ToolCall, 'turnId' | 'id'>, content: string): Promise<string>;
  /** @throws ObjectMissing */
  read(objectId: string): Promise<string>;
}

export function createArtifactContents(deps: Omit<ContentObjectsDeps, 'job'>): ArtifactContents {
  const { put, read } = createContentObjects({ ...deps, job: ARTIFACT_OBJECT_JOB });
  return { put: ({ turnId, id }, content) => put([turnId, id], content), read };
}
