import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { bodyOf } from './trigger-body.js';

const textOf = (headers: Record<string, string>, body: string | Buffer) => {
  const file = bodyOf(headers, Buffer.from(body));
  return file && { name: file.name, text: file.bytes.toString() };
};

describe('the file that an agent gets of a request', () => {
  it('begins with the headers that name the event, and contains no other header', () => {
    const headers = {
      authorization: 'Bearer secret',
      cookie: 'a=b',
      'x-hub-signature-256': 'sha256=0',
      'webhook-signature': 'v1,0',
      'x-gitlab-token': 'secret',
      'x-shopify-topic': 'orders/create',
      'ce-type': 'com.example.created',
    };
    expect(textOf(headers, '{}')).toEqual({
      name: 'event.txt',
      text: 'x-shopify-topic: orders/create\nce-type: com.example.created\n\n{}',
    });
  });

  it.each([
    ['{"a":1}', 'event.json'],
    ['  [1]', 'event.json'],
    ['Hello', 'event.txt'],
    [Buffer.from([0, 1, 255]), 'event.bin'],
  ])('has a name by its content: %j', (body, name) => {
    expect(bodyOf({}, Buffer.from(body))?.name).toBe(name);
  });

  it('has the fields of a form on separate lines', () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };
    expect(textOf(headers, 'from=Ada+L&text=1%0A2')?.text).toBe('from=Ada L\ntext=1\n2');
  });

  it.each(['', ' \n'])('does not exist for the body %j', (body) => {
    expect(bodyOf({}, Buffer.from(body))).toBeUndefined();
  });

  it('is made of any bytes, and of any headers that Node accepts', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.constantFrom('application/json', 'text/plain', 'application/x-www-form-urlencoded', 'image/png', ''),
        fc.string(),
        (bytes, type, event) => {
          const file = bodyOf({ 'content-type': type, 'x-github-event': event }, Buffer.from(bytes));
          const isText = file !== undefined && file.name !== 'event.bin';
          expect(isText && file.bytes.includes(0)).toBe(false);
        },
      ),
    );
  });
});
