import { pathToFileURL } from 'node:url';
import type { Attachment, MessageData } from '@uswarm/contract';
import { createFileReader, isProblem } from '@uswarm/file-reader';
import { FILE_TYPES } from '@uswarm/file-writer';
import { programFile } from '@uswarm/testkit/program-file';

/** A file that an agent wrote. */
export interface FileState {
  name: string;
  /** As agents name it, or the media type. */
  type: string;
  /** As an agent would read it. */
  text: string;
  agent: string;
}

const DOCUMENTS: readonly string[] = ['docx', 'xlsx', 'pdf'];

const reader = createFileReader({ program: pathToFileURL(programFile('packages/file-reader/dist/program.js')) });

function typeOf({ name, mime_type: mediaType }: Attachment): string {
  const types = Object.entries(FILE_TYPES);
  const found =
    types.find(([, type]) => name.endsWith(`.${type.ending}`)) ??
    types.find(([, type]) => type.mediaType === mediaType);
  return found?.[0] ?? mediaType;
}

async function textIn({ name, mime_type: type, size }: Attachment, bytes: Buffer): Promise<string> {
  const read = await reader.text({ name, type, bytes, size }, new AbortController().signal);
  return isProblem(read) ? read.message : read.parts.map(({ label, text }) => `${label}\n${text}`).join('\n');
}

export const isFile = ({ role, attachments }: MessageData): boolean => role === 'agent' && attachments.length > 0;

/** Downloads the files that agents wrote. @param url the API's */
export async function writtenFiles(url: string, messages: readonly MessageData[]): Promise<FileState[]> {
  const written = messages.filter(isFile).flatMap(({ agent, attachments }) =>
    attachments.map(async (file) => {
      const response = await fetch(new URL(file.url, url));
      const bytes = Buffer.from(await response.arrayBuffer());
      const type = typeOf(file);
      const text = DOCUMENTS.includes(type) ? await textIn(file, bytes) : bytes.toString();
      return { name: file.name, type, text, agent: agent?.slug ?? '' };
    }),
  );
  return Promise.all(written);
}
