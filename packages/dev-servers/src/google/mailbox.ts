import PostalMime, { type Address, type Email } from 'postal-mime';
import { BadRequest, type DescribedRequest } from './discovery.js';

export interface Mail {
  id: string;
  threadId: string;
  labels: readonly string[];
  parsed: Email;
  raw: string;
}

export interface Mailbox {
  address: string;
  /** All mails except drafts, in the order of their arrival. */
  mails: readonly Mail[];
  drafts: readonly Mail[];
  /** Stores a mail as if it had been received. */
  receive(raw: string): Promise<Mail>;
  /** False hides new mails from searches. */
  indexed: boolean;
  /** @throws BadRequest */
  handle(request: DescribedRequest): Promise<unknown>;
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

const addresses = (list: readonly Address[] | undefined): string =>
  (list ?? []).map(({ address }) => address ?? '').join(' ');

/** Whether a mail matches a search: all words must occur, with the operators `from:`, `to:`, `subject:`, `in:` and `rfc822msgid:`. */
function matches({ parsed, labels }: Mail, query: string): boolean {
  const { from, to, subject = '', text = '', messageId } = parsed;
  return query
    .toLowerCase()
    .split(/\s+/)
    .filter((term) => term !== '')
    .every((term) => {
      const [, operator = '', value = ''] = /^(from|to|subject|in|rfc822msgid):(.*)$/.exec(term) ?? [];
      const fields: Record<string, string> = {
        from: addresses(from === undefined ? [] : [from]),
        to: addresses(to),
        subject,
        in: labels.join(' '),
      };
      if (operator === 'rfc822msgid') return messageId?.toLowerCase() === `<${value.replace(/^<|>$/g, '')}>`;
      const field = fields[operator];
      if (field !== undefined) return field.toLowerCase().includes(value);
      return `${subject} ${text}`.toLowerCase().includes(term);
    });
}

function payloadOf({ parsed }: Mail, withBody: boolean): unknown {
  const headers = parsed.headers.map(({ originalKey, value }) => ({ name: originalKey, value }));
  const part = (mimeType: string, content: string | undefined) =>
    content === undefined ? [] : [{ mimeType, filename: '', body: { data: base64url(content) } }];
  const files = parsed.attachments.map(({ mimeType, filename }) => ({ mimeType, filename: filename ?? '', body: {} }));
  const parts = [...part('text/plain', parsed.text), ...part('text/html', parsed.html), ...files];
  if (!withBody) return { headers };
  return { mimeType: 'multipart/mixed', headers, body: { size: 0 }, parts };
}

/** The mailbox of one user, with the rules of Gmail's documentation. Nothing is delivered. */
export function createMailbox(address: string): Mailbox {
  const mails: Mail[] = [];
  const drafts: Mail[] = [];

  async function parse(message: unknown, labels: readonly string[]): Promise<Mail> {
    const { raw, threadId } = (message ?? {}) as { raw?: string; threadId?: string };
    if (raw === undefined || raw === '') throw new BadRequest(400, 'invalidArgument', "'raw' RFC822 payload required");
    const text = Buffer.from(raw, 'base64url').toString();
    const id = crypto.randomUUID().replaceAll('-', '').slice(0, 16);
    return { id, threadId: threadId ?? id, labels, parsed: await PostalMime.parse(text), raw: text };
  }

  async function send(body: unknown): Promise<unknown> {
    const mail = await parse(body, ['SENT']);
    if ((mail.parsed.to ?? []).length === 0) throw new BadRequest(400, 'invalidArgument', 'Recipient address required');
    mails.push(mail);
    return { id: mail.id, threadId: mail.threadId, labelIds: mail.labels };
  }

  async function draft(body: unknown): Promise<unknown> {
    const mail = await parse((body as { message?: unknown }).message, ['DRAFT']);
    drafts.push(mail);
    return { id: `r${mail.id}`, message: { id: mail.id, threadId: mail.threadId, labelIds: mail.labels } };
  }

  function search(from: readonly Mail[], query: URLSearchParams): Mail[] {
    const found = mailbox.indexed ? from.filter((mail) => matches(mail, query.get('q') ?? '')) : [];
    return found.toReversed().slice(0, Number(query.get('maxResults') ?? 100));
  }

  function get(id: string, format: string): unknown {
    const mail = mails.find((one) => one.id === id);
    if (mail === undefined) throw new BadRequest(404, 'notFound', 'Requested entity was not found.');
    return {
      id: mail.id,
      threadId: mail.threadId,
      labelIds: mail.labels,
      snippet: (mail.parsed.text ?? '').slice(0, 100).replaceAll(/\s+/g, ' '),
      payload: payloadOf(mail, format === 'full'),
    };
  }

  const mailbox: Mailbox = {
    address,
    mails,
    drafts,
    indexed: true,
    async receive(raw) {
      const mail = await parse({ raw: base64url(raw) }, ['INBOX']);
      mails.push(mail);
      return mail;
    },
    async handle({ method, path, query, body }) {
      if (path['userId'] !== 'me') throw new BadRequest(403, 'forbidden', 'Delegation denied');
      switch (method) {
        case 'gmail.users.getProfile':
          return { emailAddress: address, messagesTotal: mails.length };
        case 'gmail.users.messages.list':
          return { messages: search(mails, query).map(({ id, threadId }) => ({ id, threadId })) };
        case 'gmail.users.messages.get':
          return get(path['id'] ?? '', query.get('format') ?? 'full');
        case 'gmail.users.messages.send':
          return send(body);
        case 'gmail.users.drafts.create':
          return draft(body);
        case 'gmail.users.drafts.list':
          return {
            drafts: search(drafts, query).map(({ id, threadId }) => ({ id: `r${id}`, message: { id, threadId } })),
          };
        default:
          throw new Error(`unknown method ${method}`);
      }
    },
  };
  return mailbox;
}
