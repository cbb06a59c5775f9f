import { randomUUID } from 'node:crypto';
import { BenchError } from '../settings.js';
import type { RequestSample } from '../load/job.js';
import type { Recorder } from '../replay/record.js';
import { pathOf } from '../floor/floor-app.js';
import type { FloorScript, Place } from '../replay/script.js';
import { type StatementTemplate, templateOf, type ValueTemplate, verbatim } from '../replay/template.js';

/** Sends a request to the recorded application. @returns its response. @throws BenchError if it fails */
export type Ask = (request: RequestSample, localId?: string) => Promise<unknown>;

/** Pages per long conversation, newest first; all are requested equally often. */
const PAGES = 200;

/** Search terms: common, rare and missing; several scripts; short and long; from the newest and the oldest messages. */
const SEARCHES = ['babobu', 'ab', 'needle', 'haystack', 'ys', 'xyzzy', '北京', 'ab needle'];

interface Reads {
  history: RequestSample[];
  search: RequestSample[];
  statements: FloorScript['reads'];
}

/** Sends every read request once and records its statements for the floor. The result alternates conversations. */
export async function scriptReads(recorder: Recorder, ask: Ask, places: readonly Place[]): Promise<Reads> {
  const reads: Reads[] = [];
  for (const place of places) reads.push(await scriptConversation(recorder, ask, place));
  return {
    history: interleave(reads.map(({ history }) => history)),
    search: interleave(reads.map(({ search }) => search)),
    statements: Object.assign({}, ...reads.map(({ statements }) => statements)) as Reads['statements'],
  };
}

/** Interleaves the lists: the first items, then the second items. */
function interleave<T>(lists: readonly T[][]): T[] {
  const longest = Math.max(...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, n) => lists.flatMap((list) => list.slice(n, n + 1))).flat();
}

async function scriptConversation(recorder: Recorder, ask: Ask, place: Place): Promise<Reads> {
  const statements: Record<string, StatementTemplate[]> = {};
  const seen = async (path: string): Promise<{ request: RequestSample; next: string | null }> => {
    const request: RequestSample = { method: 'GET', path, user: place.user };
    const { pagination } = (await ask(request)) as { pagination: { next_scroll_id: string | null } };
    statements[path] = verbatim(recorder.take());
    return { request, next: pagination.next_scroll_id };
  };
  // Statements that only the first request sends are not measured.
  await ask({ method: 'GET', path: pathOf(place), user: place.user });
  recorder.take();

  const history: RequestSample[] = [];
  for (let next: string | null = ''; next !== null && history.length < PAGES;) {
    const scroll: string = next === '' ? '' : `?scrollId=${encodeURIComponent(next)}`;
    const page = await seen(`${pathOf(place)}${scroll}`);
    history.push(page.request);
    next = page.next;
  }
  const search: RequestSample[] = [];
  for (const q of SEARCHES) search.push((await seen(`${pathOf(place)}/search?${new URLSearchParams({ q })}`)).request);
  return { history, search, statements };
}

const SAID = ['Questions for a friend on a Monday morning', 'Another thing, about the weather in the mountains'];

/**
 * Sends a message in two conversations. The first one's template must reproduce the second one's statements; otherwise
 * a blank is missing.
 *
 * @throws BenchError
 */
export async function scriptSend(recorder: Recorder, ask: Ask, places: readonly Place[]): Promise<StatementTemplate[]> {
  const templates: StatementTemplate[][] = [];
  for (const [n, place] of places.slice(-2).entries()) {
    const text = SAID[n] ?? '';
    await ask({ method: 'GET', path: pathOf(place), user: place.user });
    recorder.take();
    const localId = randomUUID();
    await ask({ method: 'POST', path: pathOf(place), user: place.user, text }, localId);
    const { userId, subject, workspaceId, conversationId, agentId } = place;
    const own = { userId, subject, workspaceId, conversationId, agentId, localId, text };
    templates.push(templateOf(recorder.take(), own).map(withoutBytes));
  }
  const [first, second] = templates;
  if (first === undefined || JSON.stringify(first) !== JSON.stringify(second)) {
    throw new BenchError(
      `Two messages were stored by different statements:\n${JSON.stringify(first)}\n${JSON.stringify(second)}`,
    );
  }
  return first;
}

/** Ignores token hashes, deadlines and issue times, whose values do not matter for the floor. */
function withoutBytes(statement: StatementTemplate): StatementTemplate {
  return { ...statement, values: statement.values.map(neutral) };
}

const SAME_BYTES = Buffer.alloc(32, 7).toString('base64');
/** Later than each deadline. */
const SAME_TIME = '2100-01-01T00:00:00.000Z';

function neutral(value: ValueTemplate): ValueTemplate {
  if (value.is === 'bytes') return { is: 'bytes', base64: SAME_BYTES };
  if (value.is === 'time') return { is: 'time', iso: SAME_TIME };
  return value.is === 'list' ? { is: 'list', items: value.items.map(neutral) } : value;
}
