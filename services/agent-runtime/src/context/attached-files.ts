import type { AttachedFile, Picture, RunTurnRequest } from '@uswarm/runtime-proto';
import type { UntrustedBlock } from '../text/untrusted-block.js';
import { visibleText } from '../text/untrusted-text.js';
import type { UserPart } from './messages.js';

/** Replaces pictures for models that do not see them. */
export const UNSEEN_PICTURES = 'This model cannot see pictures. Tell the user if the answer depends on one.';

/** A model whose limits are unknown is sent pictures: if the server refuses them, they are left out. */
export const seesPictures = ({ limits }: Pick<RunTurnRequest, 'limits'>): boolean => limits?.images ?? true;

export interface EntryFile {
  name: string;
  text: string;
  pictures: readonly UserPart[];
}

const toPicture = ({ mediaType, data }: Picture): UserPart => ({
  type: 'file',
  mediaType,
  data: { type: 'data', data: Buffer.from(data).toString('base64') },
});

/** @param images true if the model sees pictures */
export function toFiles(files: readonly AttachedFile[], images: boolean): EntryFile[] {
  return files.map(({ name, text, pictures }) => {
    const unseen = pictures.length > 0 && !images;
    return {
      name: visibleText(name),
      text: [text, unseen ? UNSEEN_PICTURES : ''].filter((line) => line !== '').join('\n'),
      pictures: unseen ? [] : pictures.map(toPicture),
    };
  });
}

/** The name is part of the block, because the user may have received the file from others. */
export const fileBlock = ({ name, text }: Pick<EntryFile, 'name' | 'text'>, untrusted: UntrustedBlock): string =>
  untrusted('file', text === '' ? name : `${name}\n${text}`);
