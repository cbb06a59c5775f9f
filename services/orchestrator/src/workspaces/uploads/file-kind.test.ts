import { describe, expect, it } from '@jest/globals';
import { attachmentType, servedType, sniffMediaType } from './file-kind.js';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex');

describe('the media type of a file', () => {
  it.each([
    ['a picture', PNG, 'image/png'],
    ['a PDF', Buffer.from('%PDF-1.7\n%âãÏÓ'), 'application/pdf'],
    ['an MP3', Buffer.concat([Buffer.from('fffb9000', 'hex'), Buffer.alloc(500)]), 'audio/mpeg'],
    ['text', Buffer.from('Grüße, 世界\n'), 'text/plain'],
    ['text that ends within a character', Buffer.from('世界').subarray(0, 5), 'text/plain'],
    ['a script', Buffer.from('alert(1)'), 'text/plain'],
    ['HTML', Buffer.from('\n<!DOCTYPE html><title>x</title>'), 'text/html'],
    ['HTML after a byte order mark', Buffer.from('\ufeff<script>alert(1)</script>'), 'text/html'],
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'), 'image/svg+xml'],
    ['XML', Buffer.from('<?xml version="1.0"?><a/>'), 'application/xml'],
    ['a comparison', Buffer.from('1 < 2'), 'text/plain'],
    ['invalid UTF-8', Buffer.from([0xc3, 0x28, 0xa0, 0xff]), 'application/octet-stream'],
    ['control characters', Buffer.from('a\u0000b'), 'application/octet-stream'],
    ['an empty file', Buffer.alloc(0), 'application/octet-stream'],
  ])('is detected in %s', async (_what, head, type) => {
    expect(await sniffMediaType(head)).toBe(type);
  });
});

describe('the type of an attachment', () => {
  it.each([
    ['image/webp', 'image'],
    ['video/mp4', 'video'],
    ['audio/ogg', 'audio'],
    ['application/pdf', 'file'],
    ['text/plain', 'file'],
    ['image/svg+xml', 'file'],
  ])('is derived from the media type: %s is %s', (mediaType, type) => {
    expect(attachmentType(mediaType)).toBe(type);
  });
});

describe('the media type of a download', () => {
  it.each(['text/html', 'image/svg+xml', 'application/xml', 'text/xml', 'application/xhtml+xml', 'text/javascript'])(
    'is not %s, which a browser would run',
    (mediaType) => {
      expect(servedType(mediaType)).toBe('application/octet-stream');
    },
  );

  it.each(['image/png', 'video/mp4', 'audio/mpeg', 'application/pdf'])('is %s, which is inert', (mediaType) => {
    expect(servedType(mediaType)).toBe(mediaType);
  });
});
