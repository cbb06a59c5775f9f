import { randomUUIDv7 } from 'node:crypto';
import { Readable } from 'node:stream';
import { insertArtifact, appendArtifactVersion } from '../src/workspaces/artifacts/artifacts.store.js';
import { createFileObjects } from '../src/workspaces/uploads/file-objects.js';
import type { Home, TestOrchestrator } from './test-orchestrator.js';

/** Stores one version per content, as the tools do. @returns the artifact's id */
export async function storeArtifact(
  { database, objectDirectory }: TestOrchestrator,
  { workspaceId, conversationId }: Pick<Home, 'workspaceId' | 'conversationId'>,
  title: string,
  contents: readonly string[],
): Promise<string> {
  const id = randomUUIDv7();
  for (const [index, content] of contents.entries()) {
    const object_id = randomUUIDv7();
    await createFileObjects(objectDirectory).put(object_id, Readable.from([Buffer.from(content)]));
    const about = { title, agent_slug: 'writer', preview: content, size: Buffer.byteLength(content), object_id };
    if (index === 0) await insertArtifact(database, { id, workspaceId, conversationId }, about, 1_000);
    else await appendArtifactVersion(database, id, { ...about, version: index + 1 });
  }
  return id;
}
