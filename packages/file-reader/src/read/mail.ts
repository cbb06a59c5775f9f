import PostalMime, { type Address, type Attachment, type Email } from 'postal-mime';
import type { FileText } from '../file-reader.js';
import { htmlToText } from './html.js';
import { createOutput, textOf, type Output } from './output.js';
import { ProblemError } from './problem.js';

/** Mails in mails whose text is read. */
const MAX_DEPTH = 3;

export async function readMail(bytes: Uint8Array, characters: number): Promise<FileText> {
  const output = createOutput(characters);
  const mail = await PostalMime.parse(bytes, parserOptions);
  if (mail.headers.length === 0) throw new ProblemError('corrupt', 'The file is not a mail.');
  await addMail(mail, '', 1, output);
  return textOf(output, {
    what: 'mail',
    kind: 'sections',
    total: output.parts.length,
    ...(mail.subject === undefined ? {} : { title: mail.subject }),
  });
}

const parserOptions = {
  // A mail in a mail is read here, where its depth is known.
  forceRfc822Attachments: true,
  maxNestingDepth: 50,
  maxHeadersSize: 1024 * 1024,
} as const;

async function addMail(mail: Email, label: string, depth: number, output: Output): Promise<void> {
  const text = mail.text?.trim() || htmlToText(mail.html ?? '');
  const sections = [headers(mail), text, attachmentList(mail.attachments)].filter((section) => section !== '');
  if (!output.add(label, sections.join('\n\n'))) return;
  const nested = mail.attachments.filter(({ mimeType }) => mimeType === 'message/rfc822');
  for (const { content, filename } of nested) {
    if (depth > MAX_DEPTH) {
      output.add('', 'More mails are attached to this mail; they are nested too deeply to be read.');
      return;
    }
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    const inner = await PostalMime.parse(bytes, parserOptions);
    await addMail(inner, `Attached mail ${JSON.stringify(inner.subject ?? filename ?? '')}`, depth + 1, output);
  }
}

function headers({ from, to, cc, date, subject }: Email): string {
  const lines: [name: string, value: string | undefined][] = [
    ['From', from && addresses([from])],
    ['To', addresses(to)],
    ['Cc', addresses(cc)],
    ['Date', date],
    ['Subject', subject],
  ];
  return lines.flatMap(([name, value]) => (value ? [`${name}: ${value}`] : [])).join('\n');
}

function addresses(list: Address[] = []): string {
  return list
    .flatMap((each) => each.group ?? [each])
    .map(({ name, address }) => (name ? `${name} <${address}>` : (address ?? '')))
    .join(', ');
}

function attachmentList(attachments: Attachment[]): string {
  if (attachments.length === 0) return '';
  const lines = attachments.map(({ filename, mimeType, content }) => {
    const size = typeof content === 'string' ? content.length : content.byteLength;
    return `- ${filename ?? 'without a name'} (${mimeType}, ${size.toLocaleString('en-US')} bytes)`;
  });
  return `Attachments:\n${lines.join('\n')}`;
}
