import { randomUUID } from 'node:crypto';
import { GMAIL_TOOL } from '@uswarm/contract/agent-tools';
import { convert } from 'html-to-text';
import { z } from 'zod';
import { entriesOf, oddAsAbsent, readableOf } from '../../platform/http/foreign-answer.js';
import { oneLine } from '../../records/one-line.js';
import { failed, succeeded, withOutcome } from '../../turns/tools/outcomes.js';
import {
  type Change,
  defineExternalTool,
  definePlatformTool,
  type Plan,
  type PlatformTool,
  type ToolCall,
  type ToolOutcome,
} from '../../turns/tools/platform-tool.js';
import { visibleText } from '../../records/visible-text.js';
import { composeMail } from './mail-message.js';
import { leftOut } from './left-out.js';
import { type ProviderApi, RequestRefused } from './provider-api.js';
import { refusedBy } from './refusals.js';

export interface GmailToolDeps {
  api: Pick<ProviderApi, 'call'>;
}

const APP = 'Gmail';
const ME = 'gmail/v1/users/me';
const FOUND = 10;
/** Maximum characters that one call returns from a mail, and from each header. */
const MAX_TEXT = 20_000;
const MAX_HEADER = 1_000;
/**
 * Limits for HTML: characters, and nesting depth. The conversion blocks the process, and the text of nested quotes and
 * lists grows with each level: any sender could block it for minutes.
 */
const MAX_HTML = 150_000;
const MAX_DEPTH = 100;

interface Part {
  mimeType?: string | undefined;
  filename?: string | undefined;
  headers: { name: string; value: string }[];
  body?: { data?: string | undefined } | undefined;
  parts: Part[];
}
const Text = oddAsAbsent(z.string());
const Part: z.ZodType<Part> = z.lazy(() =>
  z.object({
    mimeType: Text,
    filename: Text,
    headers: readableOf(z.object({ name: z.string(), value: z.string() })),
    body: oddAsAbsent(z.object({ data: Text })),
    parts: readableOf(Part),
  }),
);
const Mail = z.object({
  id: z.string(),
  threadId: Text,
  snippet: z.string().catch(''),
  payload: Part.catch({ headers: [], parts: [] }),
});
type Mail = z.output<typeof Mail>;
const WithId = z.object({ id: z.string().min(1) });
const MailList = z.object({ messages: entriesOf(WithId) });
const DraftList = z.object({ drafts: readableOf(WithId) });
const Profile = z.object({ emailAddress: Text });

const Addresses = z.array(z.email()).max(50);
const Id = z
  .string()
  .regex(/^\w{1,64}$/)
  .describe('The id of the mail, as found.');
const Outgoing = z.object({
  to: Addresses.min(1).describe('Mail addresses.'),
  cc: Addresses.optional(),
  subject: z.string().max(500).overwrite(oneLine),
  body: z.string().min(1).max(50_000).overwrite(visibleText).describe('Plain text.'),
  reply_to: Id.optional().describe('The id of the mail that this one answers.'),
});
type Outgoing = z.output<typeof Outgoing>;

const headerOf = ({ payload }: Mail, wanted: string): string =>
  payload.headers.find(({ name }) => name.toLowerCase() === wanted)?.value ?? '';

/** The mail's sender controls header values. */
const shownHeader = (mail: Mail, wanted: string): string => headerOf(mail, wanted).slice(0, MAX_HEADER).toWellFormed();

const leaves = (part: Part): Part[] => (part.parts.length === 0 ? [part] : part.parts.flatMap(leaves));

/** Prefers plain text over HTML, and cuts long texts. */
function textOf({ payload, snippet }: Mail): { text: string; isCut: boolean } {
  const parts = leaves(payload).filter(({ filename = '' }) => filename === '');
  const content = (mimeType: string): string | undefined => {
    const data = parts.find((part) => part.mimeType === mimeType)?.body?.data;
    return data === undefined ? undefined : Buffer.from(data, 'base64url').toString('utf8');
  };
  const cut = (text: string, isCut = false) => ({
    text: text.slice(0, MAX_TEXT).toWellFormed(),
    isCut: isCut || text.length > MAX_TEXT,
  });
  const plain = content('text/plain');
  if (plain !== undefined) return cut(plain);
  const html = content('text/html');
  if (html === undefined) return cut(snippet);
  const converted = convert(html.slice(0, MAX_HTML), { wordwrap: false, limits: { maxDepth: MAX_DEPTH } });
  return cut(converted, html.length > MAX_HTML);
}

/**
 * Reads a list of mails. A mail that was deleted meanwhile, or that is odd, does not hide the others.
 *
 * @throws if none can be read and not all were deleted
 */
async function readable(reads: Promise<Mail>[]): Promise<{ found: Mail[]; odd: number }> {
  const results = await Promise.allSettled(reads);
  const found = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  const all = failures.find((error) => !(error instanceof RequestRefused && error.status === 404));
  if (found.length === 0 && all !== undefined) throw all;
  return { found, odd: failures.length };
}

/** Gmail does not recognize repeated requests: mails are looked up by their `Message-ID`. */
export function createGmailTools({ api }: GmailToolDeps): PlatformTool[] {
  const common = { switchedBy: GMAIL_TOOL, provider: 'gmail' } as const;

  const get = (userId: string, id: string, query: Record<string, string | string[]>, signal?: AbortSignal) =>
    api.call(
      userId,
      { method: 'GET', path: `${ME}/messages/${id}`, query, ...(signal === undefined ? {} : { signal }) },
      Mail,
    );
  const metadata = (userId: string, id: string, headers: string[], signal?: AbortSignal) =>
    get(userId, id, { format: 'metadata', metadataHeaders: headers }, signal);

  async function changes(
    { to, cc = [], subject, body, reply_to: replyTo }: Outgoing,
    { userId, signal }: ToolCall,
  ): Promise<Change[]> {
    const answered = replyTo === undefined ? [] : [await metadata(userId, replyTo, ['From', 'Subject'], signal)];
    return [
      { label: 'To', after: to.join(', ') },
      ...(cc.length === 0 ? [] : [{ label: 'Cc', after: cc.join(', ') }]),
      ...answered.map((mail) => ({
        label: 'Answers',
        after: oneLine(`${shownHeader(mail, 'subject')}, from ${shownHeader(mail, 'from')}`),
      })),
      { label: 'Subject', after: subject },
      { label: 'Text', after: body },
    ];
  }

  /** Runs a read. A refusal is its outcome. */
  async function reading(read: () => Promise<string>) {
    return withOutcome(await read().then(succeeded, (error: unknown) => refusedBy(APP, error)));
  }

  const search = definePlatformTool({
    ...common,
    name: 'search_mail',
    description: `Finds mails of the user, the newest first, at most ${FOUND}.`,
    effect: 'read',
    input: z.object({
      query: z.string().min(1).max(500).describe('As in the search field of Gmail, such as "from:anna newer_than:7d".'),
    }),
    describe: ({ query }) => `Searching the mail for “${query}”`,
    prepare: ({ query }, { userId, signal }) =>
      reading(async () => {
        const filter = { q: query, maxResults: String(FOUND) };
        const { messages } = await api.call(
          userId,
          { method: 'GET', path: `${ME}/messages`, query: filter, signal },
          MailList,
        );
        const { found: mails, odd } = await readable(
          messages.entries.map(({ id }) => metadata(userId, id, ['From', 'Subject', 'Date'], signal)),
        );
        const lines = mails.map((mail) =>
          JSON.stringify({
            mail_id: mail.id,
            from: shownHeader(mail, 'from'),
            subject: shownHeader(mail, 'subject'),
            date: shownHeader(mail, 'date'),
            beginning: mail.snippet,
          }),
        );
        lines.push(...leftOut(messages.odd + odd, 'mail', 'mails'));
        return lines.length === 0 ? 'No mail matches.' : lines.join('\n');
      }),
  });

  const read = definePlatformTool({
    ...common,
    name: 'read_mail',
    description: 'Reads a mail of the user. Attachments are named, not read.',
    effect: 'read',
    input: z.object({ mail_id: Id }),
    describe: () => 'Reading a mail',
    prepare: ({ mail_id: id }, { userId, signal }) =>
      reading(async () => {
        const mail = await get(userId, id, { format: 'full' }, signal);
        const { text, isCut } = textOf(mail);
        const files = leaves(mail.payload).flatMap(({ filename = '' }) => (filename === '' ? [] : [filename]));
        return [
          ...['From', 'To', 'Cc', 'Date', 'Subject'].flatMap((name) => {
            const value = shownHeader(mail, name.toLowerCase());
            return value === '' ? [] : [`${name}: ${value}`];
          }),
          ...(files.length === 0 ? [] : [`Attachments: ${files.join(', ').slice(0, MAX_HEADER).toWellFormed()}`]),
          '',
          text,
          ...(isCut ? ['(The rest of the mail is not shown.)'] : []),
        ].join('\n');
      }),
  });

  const answered = async (userId: string, id: string) => {
    const mail = await metadata(userId, id, ['Message-ID', 'References']);
    return {
      threadId: mail.threadId,
      answers: { messageId: headerOf(mail, 'message-id'), references: headerOf(mail, 'references') },
    };
  };

  /** Plans the new mail's `Message-ID` in the user's domain. */
  async function plan({ reply_to: replyTo }: Outgoing, { userId, signal }: ToolCall): Promise<Plan> {
    try {
      const { emailAddress } = await api.call(userId, { method: 'GET', path: `${ME}/profile`, signal }, Profile);
      if (replyTo !== undefined) await metadata(userId, replyTo, ['Message-ID'], signal);
      return { key: `<${randomUUID()}@${emailAddress?.split('@').at(-1) ?? 'localhost'}>` };
    } catch (error) {
      return { outcome: refusedBy(APP, error) };
    }
  }

  async function message({ to, cc = [], subject, body, reply_to: replyTo }: Outgoing, key: string, userId: string) {
    const { threadId, answers } = replyTo === undefined ? {} : await answered(userId, replyTo);
    const mail = { messageId: key, to, cc, subject, text: body, ...(answers === undefined ? {} : { answers }) };
    const raw = (await composeMail(mail)).toString('base64url');
    return { raw, ...(threadId === undefined ? {} : { threadId }) };
  }

  async function post(
    { input, key, call }: { input: Outgoing; key: string; call: ToolCall },
    path: string,
    bodyOf: (mail: object) => object,
    outcomeOf: (id: string) => ToolOutcome,
  ): Promise<ToolOutcome> {
    const { userId } = call;
    // Without an answer to this read, nothing was sent.
    const mail = await message(input, key, userId).catch(() => undefined);
    if (mail === undefined) return failed('The mail that it answers cannot be read at the moment. Nothing was sent.');
    try {
      const { id } = await api.call(userId, { method: 'POST', path: `${ME}/${path}`, body: bodyOf(mail) }, WithId);
      return outcomeOf(id);
    } catch (error) {
      return refusedBy(APP, error);
    }
  }

  const byMessageId = (key: string) => ({ q: `rfc822msgid:${key.slice(1, -1)}`, maxResults: '1' });
  const drafted = (id: string): ToolOutcome => succeeded(`Stored the draft ${id}.`);
  const sent = (id: string): ToolOutcome => succeeded(`Sent the mail ${id}.`);

  const draft = defineExternalTool({
    ...common,
    name: 'create_mail_draft',
    description: 'Stores a draft in the Gmail of the user, who can change and send it.',
    effect: 'once',
    input: Outgoing,
    describe: ({ subject }) => `Writing the draft “${subject}”`,
    changes,
    plan,
    send: (input, key, call) => post({ input, key, call }, 'drafts', (mail) => ({ message: mail }), drafted),
    async lookUp(_input, key, { userId }) {
      const request = { method: 'GET', path: `${ME}/drafts`, query: byMessageId(key) } as const;
      const { drafts } = await api.call(userId, request, DraftList);
      return drafts[0] === undefined ? undefined : drafted(drafts[0].id);
    },
  });

  const send = defineExternalTool({
    ...common,
    name: 'send_mail',
    description: 'Sends a mail in the name of the user.',
    effect: 'once',
    input: Outgoing,
    describe: ({ subject, to }) => `Sending “${subject}” to ${to.join(', ')}`,
    changes,
    plan,
    send: (input, key, call) => post({ input, key, call }, 'messages/send', (mail) => mail, sent),
    async lookUp(_input, key, { userId }) {
      const request = { method: 'GET', path: `${ME}/messages`, query: byMessageId(key) } as const;
      const { messages } = await api.call(userId, request, MailList);
      return messages.entries[0] === undefined ? undefined : sent(messages.entries[0].id);
    },
  });

  return [search, read, draft, send];
}
