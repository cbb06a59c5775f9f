import { describe, expect, it } from '@jest/globals';
import type { FileReader } from '@uswarm/file-reader';
import type { ToolCall } from '../../turns/tools/platform-tool.js';
import { createResultPictures } from './result-pictures.js';

const call = (id: string) =>
  ({ id, turnId: 'turn', userId: 'user', signal: new AbortController().signal }) as unknown as ToolCall;
const image = (text: string) => ({
  type: 'image' as const,
  mediaType: 'image/png',
  data: Buffer.from(text).toString('base64'),
});

/** Reads an image as a picture of as many MiB as its text states. */
const reader: Pick<FileReader, 'picture'> = {
  async picture({ bytes }) {
    const mib = Number(Buffer.from(bytes as Uint8Array).toString());
    if (Number.isNaN(mib)) return { problem: 'corrupt', message: 'The picture could not be read.' };
    return { type: 'image/png', bytes: new Uint8Array(mib * 1024 * 1024), width: 1, height: 1 };
  },
};

describe('the images of results', () => {
  const setUp = (id: string, ...texts: string[]) => {
    const pictures = createResultPictures(reader);
    pictures.keep(call(id), texts.map(image));
    return async (of: string) => (await pictures.read(call(of))).map(({ bytes }) => bytes.length / 1024 / 1024);
  };

  it('belong to one call, and can be read again', async () => {
    const read = setUp('a', '1', '2');
    expect({ first: await read('a'), again: await read('a'), other: await read('b') }).toEqual({
      first: [1, 2],
      again: [1, 2],
      other: [],
    });
  });

  it('are left out if they cannot be read, or exceed 3 MiB together', async () => {
    expect(await setUp('a', 'broken', '1', '1.5', '1')('a')).toEqual([1, 1.5]);
  });
});
