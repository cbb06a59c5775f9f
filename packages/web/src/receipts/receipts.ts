import { useState } from 'react';
import type { Client, components } from '@uswarm/client';
import { useClient, useLoaded } from '../session/use-client.js';
import type { Tone } from '../ui/tone.js';
import { type ReceiptKey, type Verdict, verify } from './verify.js';

export type Receipt = components['schemas']['Receipt'];
export interface Shown {
  receipt: Receipt;
  verdict: Verdict;
}
export const OUTCOMES: Record<Receipt['status'], [string, Tone]> = {
  sent: ['Being carried out', 'accent'],
  succeeded: ['Done', 'ok'],
  failed: ['Failed', 'bad'],
  unknown: ['Outcome unknown', 'attention'],
};
export const VERDICTS: Record<Verdict['state'], [string, Tone]> = {
  verified: ['Verified', 'ok'],
  invalid: ['Signature is wrong', 'bad'],
  unsigned: ['Not signed yet', 'plain'],
  unsupported: ['Cannot be verified in this browser', 'plain'],
};

async function check(receipts: readonly Receipt[], keys: readonly ReceiptKey[]): Promise<Shown[]> {
  return Promise.all(receipts.map(async (receipt) => ({ receipt, verdict: await verify(receipt.jws, keys) })));
}

/** Loads a page of verified receipts. @param more the page's cursor, with the keys known so far */
async function loadReceipts(
  { api }: Client,
  workspaceId: string,
  signal?: AbortSignal,
  more?: { keys: readonly ReceiptKey[]; scrollId: string | null },
) {
  const ending = signal && { signal };
  const cursor = more?.scrollId && { scrollId: more.scrollId };
  const query = { workspace_id: workspaceId, limit: 50, ...cursor };
  const page = await api.get('/v1/receipts', { query, ...ending });
  const keys = more?.keys ?? (await api.get('/v1/receipt-keys', { ...ending })).keys;
  return { keys, all: await check(page.data, keys), next: page.pagination.next_scroll_id };
}

type Page = Awaited<ReturnType<typeof loadReceipts>>;
/** The newest receipts, and the older ones that the user loaded. */
export function useReceipts(workspaceId: string) {
  const client = useClient();
  const [older, setOlder] = useState<Pick<Page, 'all' | 'next'>>();
  const loaded = useLoaded(`receipts ${workspaceId}`, (_, signal) => loadReceipts(client, workspaceId, signal));
  function pageAfter(first: Page) {
    const next = older === undefined ? first.next : older.next;
    async function more(): Promise<void> {
      const page = await loadReceipts(client, workspaceId, undefined, { keys: first.keys, scrollId: next });
      setOlder({ all: [...(older?.all ?? []), ...page.all], next: page.next });
    }
    return { shown: [...first.all, ...(older?.all ?? [])], next, more };
  }
  return { loaded, pageAfter };
}
