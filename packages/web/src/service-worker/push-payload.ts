/** The notification to show, and others to withdraw. */
export interface ReadPush {
  /** Tags of notifications to close. */
  withdrawn: string[];
  shown: { title: string; body: string; tag: string; data: Record<string, string> } | undefined;
  badge: number | undefined;
}

/** Browsers require that each push shows something, so a payload from a later version shows a general notification. */
export function readPush(text: string): ReadPush {
  const payload = recordOf(parse(text));
  const data = Object.fromEntries(
    Object.entries(recordOf(payload['data'])).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  );
  const badge = payload['badge'];
  const count = Number.isSafeInteger(badge) && Number(badge) >= 0 ? Number(badge) : undefined;
  if (data['type'] === 'withdrawal') {
    const ids = (data['message_ids'] ?? '').split(',').filter((id) => id !== '');
    return { withdrawn: ids, shown: undefined, badge: count };
  }
  const title = textOf(payload['title']) ?? 'uswarm';
  const body = textOf(payload['body']) ?? 'There is something new.';
  return { withdrawn: [], shown: { title, body, tag: data['message_id'] ?? 'uswarm', data }, badge: count };
}

/** @returns the path of a notification's conversation, or the start page */
export function pathOf(data: unknown): string {
  const { workspace_id: workspaceId, conversation_id: conversationId } = recordOf(data);
  if (typeof workspaceId !== 'string' || typeof conversationId !== 'string') return '/';
  return `/w/${encodeURIComponent(workspaceId)}/c/${encodeURIComponent(conversationId)}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
