import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import { createExportContent, type ExportContentDeps } from './export-content.js';
import type { ExportedWorkflow } from './export-data.store.js';
import { NO_TRANSACTION } from '../../../test/transaction.js';

const WORKFLOWS = Array.from({ length: 25 }, (_, n): ExportedWorkflow => {
  const key = `id-${String(n).padStart(2, '0')}`;
  return { position: { time: '2026-11-22T10:00:00.000000Z', key }, data: { id: key } };
});

/** Exports workflows. @returns the archive's workflows, and how many were read together at most */
async function exported(workflows: ExportedWorkflow[]): Promise<{ workflows: unknown; largestPage: number }> {
  const none = () => Promise.resolve([]);
  let largestPage = 0;
  const data: ExportContentDeps['data'] = {
    exportDevices: none,
    exportLegalAcceptances: none,
    exportUsage: none,
    exportIntegrations: none,
    exportToolServers: none,
    exportWebhooks: none,
    exportApiTokens: none,
    exportUploads: none,
    exportWorkspaces: () => Promise.resolve([{ id: 'w' }]),
    exportAgents: none,
    exportTools: none,
    exportMemories: none,
    exportConversations: none,
    exportArtifactVersions: none,
    exportMessages: none,
    exportSchedules: none,
    exportTriggers: none,
    exportWorkflows(_db, _workspaceId, after, limit) {
      const page = workflows.filter(({ position: { key } }) => key > (after?.key ?? '')).slice(0, limit);
      largestPage = Math.max(largestPage, page.length);
      return Promise.resolve(page);
    },
  };
  const unused = () => Promise.reject(new Error('not used'));
  const content = createExportContent({
    database: NO_TRANSACTION,
    data,
    profile: unused,
    receipts: { async *all() {}, async *imported() {}, keys: unused, importedKeys: unused },
    steps: { async *all() {} },
    objects: { open: unused },
  });
  const entries = await content('u', new Date(0));
  const entry = entries.find(({ path }) => path === 'workspaces/w/workflows.json');
  if (entry === undefined) throw new Error('the archive has no workflows');
  return { workflows: JSON.parse(await text(await entry.open())), largestPage };
}

it('an export has all workflows, but few of them in memory, because their results can be long', async () => {
  const { workflows, largestPage } = await exported(WORKFLOWS);
  expect(workflows).toEqual(WORKFLOWS.map(({ data }) => data));
  expect(largestPage).toBeLessThanOrEqual(10);
});

it('the list of workflows of an export is empty for a workspace without workflows', async () => {
  expect((await exported([])).workflows).toEqual([]);
});
