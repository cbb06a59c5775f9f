import { type ContentObjectsDeps, createContentObjects } from '../../records/content-objects.js';
import type { ToolCall } from '../../turns/tools/platform-tool.js';

/** Job type that deletes the content of a version that was deleted, or never committed. */
export const ARTIFACT_OBJECT_JOB = 'artifact-object';

/** The contents of artifacts in the object store. */
export interface ArtifactContents {
  /** Stores the content that a call writes. Repeating the call stores the same object. @returns its key */
  put(call: Pick<ToolCall, 'turnId' | 'id'>, content: string): Promise<string>;
  /** @throws ObjectMissing */
  read(objectId: string): Promise<string>;
}

export function createArtifactContents(deps: Omit<ContentObjectsDeps, 'job'>): ArtifactContents {
  const { put, read } = createContentObjects({ ...deps, job: ARTIFACT_OBJECT_JOB });
  return { put: ({ turnId, id }, content) => put([turnId, id], content), read };
}
