import { randomUUIDv7 } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Export, WorkspaceImport } from '@uswarm/contract';
import { openSwarmFile, type SwarmFile } from '@uswarm/swarm-file';
import { eventually } from '@uswarm/testkit/eventually';
import type { ApiClient } from './api-client.js';
import { download, formOf } from './uploads.js';

export const IMPORTS = '/v1/workspace-imports';

type Client = Pick<ApiClient, 'get' | 'post' | 'raw'>;

/** @returns the file of a new export */
export async function exportWorkspace(url: string, user: Client, workspaceId: string): Promise<Buffer> {
  const path = `/v1/workspaces/${workspaceId}`;
  const { body } = await user.post<{ data: Export }>(`${path}/export`, undefined, 202);
  const read = async () => (await user.get<{ data: Export }>(`/v1/users/exports/${body.data.id}`)).body.data;
  const state = await eventually(read, { until: ({ status }) => status === 'ready' || status === 'failed' });
  return (await download(url, state.url ?? '')).bytes;
}

export async function beginImport(user: Client, bytes: Buffer): Promise<WorkspaceImport> {
  const form = await formOf({ content: bytes, name: 'w.uswarm' });
  const answer = await user.raw<{ data: WorkspaceImport }>({ method: 'POST', path: IMPORTS, ...form });
  if (answer.status !== 202) throw new Error(`the import was rejected: ${JSON.stringify(answer.body)}`);
  return answer.body.data;
}

export const importOf = async (user: Client, id: string): Promise<WorkspaceImport> =>
  (await user.get<{ data: WorkspaceImport }>(`${IMPORTS}/${id}`)).body.data;

export async function importEnd(user: Client, id: string): Promise<WorkspaceImport> {
  return eventually(() => importOf(user, id), { until: ({ status }) => status === 'done' || status === 'failed' });
}

export async function importFile(user: Client, bytes: Buffer): Promise<WorkspaceImport> {
  return importEnd(user, (await beginImport(user, bytes)).id);
}

/** All members but the manifest, by path. */
export async function membersOf(bytes: Buffer): Promise<Map<string, Buffer>> {
  return withSwarmFile(bytes, async (file) => {
    const members = new Map<string, Buffer>();
    for (const { path } of file.manifest.members) members.set(path, await buffer(await file.open(path)));
    return members;
  });
}

export async function withSwarmFile<Result>(bytes: Buffer, use: (file: SwarmFile) => Promise<Result>): Promise<Result> {
  const name = join(tmpdir(), `${randomUUIDv7()}.uswarm`);
  await writeFile(name, bytes);
  try {
    const file = await openSwarmFile(name);
    try {
      return await use(file);
    } finally {
      file.close();
    }
  } finally {
    await rm(name);
  }
}
