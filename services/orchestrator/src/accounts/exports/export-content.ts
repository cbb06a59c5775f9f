import { Readable } from 'node:stream';
import type { UserProfile } from '@uswarm/contract';
import type { ReceiptService } from '../../turns/receipts/receipts.service.js';
import type { StepService } from '../../turns/steps/steps.service.js';
import { cleanName } from '../../workspaces/uploads/file-names.js';
import { ObjectMissing, type ObjectStore } from '../../records/object-store.js';
import type { ArchiveEntry } from './archive.js';
import type { ExportedWorkflow } from './export-data.store.js';
import type * as exportDataRecords from './export-data.store.js';
import type { Database } from '../../platform/database/database.js';

export interface ExportContentDeps {
  database: Database;
  data: Pick<
    typeof exportDataRecords,
    | 'exportDevices'
    | 'exportLegalAcceptances'
    | 'exportUsage'
    | 'exportIntegrations'
    | 'exportToolServers'
    | 'exportWebhooks'
    | 'exportApiTokens'
    | 'exportUploads'
    | 'exportWorkspaces'
    | 'exportAgents'
    | 'exportTools'
    | 'exportMemories'
    | 'exportConversations'
    | 'exportArtifactVersions'
    | 'exportWorkflows'
    | 'exportSchedules'
    | 'exportTriggers'
    | 'exportMessages'
  >;
  profile: (userId: string) => Promise<UserProfile>;
  receipts: Pick<ReceiptService, 'all' | 'imported' | 'importedKeys' | 'keys'>;
  steps: Pick<StepService, 'all'>;
  objects: Pick<ObjectStore, 'open'>;
}

/** Version of the layout described in the README and docs. Increase it for incompatible changes. */
const FORMAT = { format: 'uswarm-export', version: 1 } as const;
/** Maximum messages in memory, and maximum workflows, whose tasks and results can be long. */
const PAGE = 100;
const WORKFLOW_PAGE = 10;

const README = `Your data at uswarm
===================

manifest.json            format and version of this archive, when and for whom it was made, and all files in it
profile.json             your account and preferences
devices.json             devices that you used; without push tokens
legal.json               legal documents that you accepted, with version and time
usage.json               tokens and requests by month and workspace
integrations.json        apps that you connected; without their tokens
tool-servers.json        tool servers that you added; without their tokens
webhooks.json            webhooks of your workspaces; without their secrets
api-tokens.json          tokens that you created for programs; without their secrets
receipts.json            calls of agents that changed something, with signatures
receipt-keys.json        the public keys of the signatures
uploads.json             files that you uploaded; "path" is the file in this archive
files/<id>/<name>        the files themselves
workspaces.json          your workspaces
workspaces/<id>/agents/<id>.json              an agent with its settings, tools and memories
workspaces/<id>/artifacts.json                documents that agents wrote, one entry per version; "path" is its content
workspaces/<id>/artifacts/<id>/<version>.md   the content of a version
workspaces/<id>/imported-receipts.json        receipts that another installation signed, if you imported the workspace
workspaces/<id>/imported-receipt-keys.json    the public keys that came with them
workspaces/<id>/workflows.json                workflows with the tasks and results of their steps
workspaces/<id>/schedules.json                schedules with their runs
workspaces/<id>/triggers.json                 triggers with their runs, and the bodies of queued requests as base64
workspaces/<id>/conversations.json            the conversations; "path" is the file with the messages, "summary"
                                              replaces older messages in prompts
workspaces/<id>/conversations/<id>.ndjson     the messages, oldest first, one JSON object per line
workspaces/<id>/turns/<conversation>.ndjson   what agents did, one JSON object per turn, with the beginnings of long texts

All text is UTF-8. Times are ISO 8601 in UTC. Attachments of messages are named by the id of their upload.
`;

const text = (path: string, content: () => Promise<string>): ArchiveEntry => ({
  path,
  compress: true,
  open: async () => Readable.from([Buffer.from(await content())], { objectMode: false }),
});
const json = (path: string, content: () => Promise<unknown>): ArchiveEntry =>
  text(path, async () => `${JSON.stringify(await content(), undefined, 2)}\n`);

/** A JSON list that holds one page in memory at a time: its items can be long. */
const list = (path: string, items: () => AsyncIterable<unknown>, start: string, end: string): ArchiveEntry => ({
  path,
  compress: true,
  open: async () => Readable.from(listed(items(), start, end), { objectMode: false }),
});

const ndjson = (path: string, lines: () => AsyncIterable<Buffer>): ArchiveEntry => ({
  path,
  compress: true,
  open: async () => Readable.from(lines(), { objectMode: false }),
});

async function* listed(items: AsyncIterable<unknown>, start: string, end: string): AsyncGenerator<Buffer> {
  let separator = `${start}\n`;
  for await (const item of items) {
    yield Buffer.from(separator + JSON.stringify(item));
    separator = ',\n';
  }
  yield Buffer.from(separator.startsWith(start) ? `${start}${end}\n` : `\n${end}\n`);
}

/** Lists all files in a user's archive. Lists are read immediately, file contents when the archive reaches them. */
export function createExportContent({ database, data, profile, receipts, steps, objects }: ExportContentDeps) {
  async function* lines(conversationId: string): AsyncGenerator<Buffer> {
    for (let seq = 0; ;) {
      const page = await data.exportMessages(database, conversationId, seq, PAGE);
      if (page.length > 0) yield Buffer.from(page.map((message) => `${JSON.stringify(message.data)}\n`).join(''));
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      seq = last.seq;
    }
  }

  async function* turns(conversationId: string): AsyncGenerator<Buffer> {
    for await (const turn of steps.all(conversationId)) yield Buffer.from(`${JSON.stringify(turn)}\n`);
  }

  async function* workflowsOf(workspaceId: string): AsyncGenerator<ExportedWorkflow['data']> {
    for (let after: ExportedWorkflow['position'] | undefined; ;) {
      const page = await data.exportWorkflows(database, workspaceId, after, WORKFLOW_PAGE);
      yield* page.map((workflow) => workflow.data);
      after = page.at(-1)?.position;
      if (after === undefined) return;
    }
  }

  async function workspace(workspaceId: string): Promise<ArchiveEntry[]> {
    const folder = `workspaces/${workspaceId}`;
    const conversations = (await data.exportConversations(database, workspaceId)).map((conversation) => ({
      ...conversation,
      path: `${folder}/conversations/${conversation.id}.ndjson`,
    }));
    const agents = await data.exportAgents(database, workspaceId);
    const artifacts = (await data.exportArtifactVersions(database, workspaceId)).map((version) => ({
      ...version,
      path: `${folder}/artifacts/${version.id}/${version.version}.md`,
    }));
    return [
      ...agents.map((agent) =>
        json(`${folder}/agents/${agent.id}.json`, async () => ({
          ...agent,
          tools: await data.exportTools(database, agent.id),
          memories: await data.exportMemories(database, agent.id),
        })),
      ),
      json(`${folder}/artifacts.json`, async () => artifacts.map(({ path, data: version }) => ({ ...version, path }))),
      ...artifacts.map(({ path, objectId }) => ({ path, compress: true, open: () => openFile(objectId) })),
      list(`${folder}/imported-receipts.json`, () => receipts.imported(workspaceId), '{"data":[', ']}'),
      json(`${folder}/imported-receipt-keys.json`, async () => ({ keys: await receipts.importedKeys(workspaceId) })),
      list(`${folder}/workflows.json`, () => workflowsOf(workspaceId), '[', ']'),
      json(`${folder}/schedules.json`, () => data.exportSchedules(database, workspaceId)),
      json(`${folder}/triggers.json`, () => data.exportTriggers(database, workspaceId)),
      json(`${folder}/conversations.json`, async () => conversations),
      ...conversations.flatMap(({ id, path }) => [
        ndjson(path, () => lines(id)),
        ndjson(`${folder}/turns/${id}.ndjson`, () => turns(id)),
      ]),
    ];
  }

  async function files(userId: string): Promise<ArchiveEntry[]> {
    const uploads = (await data.exportUploads(database, userId)).map((upload) => ({
      ...upload,
      path: `files/${upload.id}/${cleanName(upload.name)}`,
    }));
    return [
      json('uploads.json', async () => uploads),
      ...uploads.map(({ id, path }) => ({ path, compress: false, open: () => openFile(id) })),
    ];
  }

  /** Returns an empty file if the user deleted it in the meantime. */
  async function openFile(id: string): Promise<Readable> {
    try {
      return await objects.open(id);
    } catch (error) {
      if (error instanceof ObjectMissing) return Readable.from([], { objectMode: false });
      throw error;
    }
  }

  return async (userId: string, now: Date): Promise<ArchiveEntry[]> => {
    const workspaces = await data.exportWorkspaces(database, userId);
    const entries = [
      json('profile.json', async () => ({ id: userId, ...(await profile(userId)) })),
      json('devices.json', () => data.exportDevices(database, userId)),
      json('legal.json', () => data.exportLegalAcceptances(database, userId)),
      json('usage.json', () => data.exportUsage(database, userId)),
      json('integrations.json', () => data.exportIntegrations(database, userId)),
      json('tool-servers.json', () => data.exportToolServers(database, userId)),
      json('webhooks.json', () => data.exportWebhooks(database, userId)),
      json('api-tokens.json', () => data.exportApiTokens(database, userId)),
      list('receipts.json', () => receipts.all(userId), '{"data":[', ']}'),
      json('receipt-keys.json', () => receipts.keys()),
      json('workspaces.json', async () => workspaces),
    ];
    for (const { id } of workspaces) entries.push(...(await workspace(id)));
    entries.push(...(await files(userId)));
    const manifest = {
      ...FORMAT,
      created_at: now.toISOString(),
      user_id: userId,
      files: ['README.txt', ...entries.map(({ path }) => path)],
    };
    return [text('README.txt', async () => README), json('manifest.json', async () => manifest), ...entries];
  };
}
