import { describe, expect, it } from '@jest/globals';
import { MAX_RESULT_BYTES, toToolResult } from './tool-result.js';

const image = (bytes = 3, mimeType = 'image/png') => ({
  type: 'image' as const,
  mimeType,
  data: Buffer.alloc(bytes, 1).toString('base64'),
});
const text = (value: string) => ({ type: 'text' as const, text: value });
const link = { type: 'resource_link' as const, uri: 'https://a.example/\u200Bx', name: 'page', title: 'The\npage' };

describe('toToolResult', () => {
  it('keeps images and links in their order, and describes them in words', () => {
    expect(toToolResult({ content: [text('Before'), image(), link, text('after.')] })).toEqual({
      text: 'Before\n[image: image/png, 3 bytes]\n[link: The page https://a.example/x]\nafter.',
      failed: false,
      parts: [
        { type: 'text', text: 'Before' },
        { type: 'image', mediaType: 'image/png', data: 'AQEB' },
        { type: 'link', uri: 'https://a.example/x', name: 'The page' },
        { type: 'text', text: 'after.' },
      ],
    });
  });

  it('has only text if there is nothing else', () => {
    expect(toToolResult({ content: [text('a'), text('b')] })).toEqual({ text: 'a\nb', failed: false });
  });

  it('prefers structured content to text, but keeps images', () => {
    const result = toToolResult({ content: [text('ignored'), image()], structuredContent: { n: 1 } });
    expect(result.text).toBe('{"n":1}\n[image: image/png, 3 bytes]');
    expect(result.parts).toHaveLength(2);
  });

  it('reads embedded resources', () => {
    const content = [
      { type: 'resource' as const, resource: { uri: 'file:///a', text: 'words' } },
      { type: 'resource' as const, resource: { uri: 'file:///b', mimeType: 'image/png', blob: 'AQEB' } },
      { type: 'resource' as const, resource: { uri: 'file:///c', mimeType: 'application/zip', blob: 'AQEB' } },
    ];
    expect(toToolResult({ content }).parts).toEqual([
      { type: 'text', text: 'words' },
      { type: 'image', mediaType: 'image/png', data: 'AQEB' },
      { type: 'link', uri: 'file:///c', name: 'file:///c' },
    ]);
  });

  it.each([
    ['larger than 1 MiB', image(1024 * 1024 + 3), '[image larger than 1048576 bytes]'],
    ['of another type', image(3, 'image/svg+xml'), '[content of type image/svg+xml, which is not supported]'],
    ['that is not base64', { ...image(), data: '<svg>' }, '[image that cannot be read]'],
  ])('replaces an image %s with text', (_, block, words) => {
    expect(toToolResult({ content: [block] })).toEqual({ text: words, failed: false });
  });

  it('keeps at most four images', () => {
    const { parts = [] } = toToolResult({ content: Array.from({ length: 6 }, () => image()) });
    expect(parts.map(({ type }) => type)).toEqual(['image', 'image', 'image', 'image', 'text']);
  });

  it('keeps the text after images that it leaves out', () => {
    const images = Array.from({ length: 6 }, () => image());
    expect(toToolResult({ content: [...images, text('The chart shows a fall.')] }).text).toMatch(
      /\n\[more than 4 images: the others were left out\]\nThe chart shows a fall\.$/,
    );
  });

  it('limits the text of all parts together, links included', () => {
    const { text: words, parts } = toToolResult({ content: [text('x'.repeat(MAX_RESULT_BYTES - 10)), link, image()] });
    expect(words).toMatch(
      new RegExp(`\\n\\[link: Th.*\\n\\[cut: the result was longer than ${MAX_RESULT_BYTES} bytes\\]$`),
    );
    expect(parts).toHaveLength(2);
  });

  it('describes the images of a failed call', () => {
    expect(toToolResult({ isError: true, content: [text('broken'), image()] })).toEqual({
      text: 'broken\n[image: image/png, 3 bytes]',
      failed: true,
    });
  });
});
