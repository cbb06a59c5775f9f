import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { chat, chatWithInput, choiceCard, fakeUswarm } from '../test/chats.js';
import {
  begin,
  finish,
  id,
  liveMessage,
  message,
  messageId,
  stream,
  textContent,
  type Script,
  type ScriptContext,
} from '../test/script.js';
import { chunk, created, deleted, ended, loading, transcript, turn, updated } from '../test/transcript.js';

const position = (seq: number) => `${String(seq).padStart(16, '0')}b`;
const delivered = { status: 'delivered', extended_status: 'delivered' } as const;
const cardMessage = (selected: string | null, rev: number) =>
  ({ ...delivered, id: id(30), content: choiceCard(selected), rev, position: position(30) }) as const;
const choice = (last: number) =>
  ({
    id: id(last),
    role: 'user',
    agent: null,
    content: textContent('The second'),
    position: position(last),
    extended_status: 'read',
  }) as const;
const answer = (last: number, text: string) =>
  ({ ...delivered, id: id(last), content: textContent(text), position: position(last) }) as const;

/** Lines about the connection and the agents' activity are not compared. */
const withoutNotes = (out: string): string => out.replace(/^· .*\n/gm, '');

describe('a chat whose connection was lost', () => {
  it('finds the answer behind more than 100 messages of its turn, and prints it once', async () => {
    let isLost = false;
    const { url } = await fakeUswarm((context) => {
      if (isLost) return;
      isLost = true;
      begin(context);
      const searches = Array.from({ length: 240 }, (_, index) => {
        const content = { type: 'tool_status', tool: 'web_search_tool', description: '', state: 'completed' } as const;
        return message({ ...delivered, id: id(100 + index), content, position: position(100 + index) });
      });
      const question = { role: 'user', agent: null, local_id: context.sent.local_id } as const;
      context.store([
        message({ ...answer(11, 'Because.'), position: position(900) }),
        ...searches.toReversed(),
        message({ ...question, id: messageId, content: textContent('Why?'), extended_status: 'read' }),
      ]);
      context.socket.conn.close();
    });
    const { code, out } = await chat(url, ['Why?']);
    expect({ code, out: withoutNotes(out) }).toEqual({ code: 0, out: 'Manager: Because.\n' });
  });

  it('waits for the answer to its choice, although an earlier choice had the same label', async () => {
    const before = [message(answer(21, 'The old answer.')), message(choice(20))];
    let context: ScriptContext | undefined;
    const offerCard: Script = (one) => {
      context = one;
      one.store([message(cardMessage(null, 3)), ...before]);
      begin(one);
      one.emit('message.new', liveMessage(cardMessage(null, 3)));
      finish(one, 'Choose.', 'delivered');
    };
    let lists = 0;
    const { url } = await fakeUswarm(offerCard, {
      onPost: () => void context?.socket.conn.close(),
      onList(emit) {
        lists += 1;
        // At the start, before the choice, and after the reconnect.
        if (lists !== 3) return;
        emit('message.updated', liveMessage(cardMessage('b', 5)));
        emit('message.new', liveMessage(choice(40)));
        emit('message.new', liveMessage({ id: id(41) }));
        finish({ emit }, 'Good choice.', 'delivered', id(41));
      },
    });
    const { code, out } = await chat(url, [], 'Which?\n2\n');
    expect(code).toBe(0);
    expect(withoutNotes(out)).toBe(
      '? Which one?\n  [1] The first\n  [2] The second\nManager: Choose.\n' +
        '✓ Which one? You chose: The second\nManager: Good choice.\n',
    );
  });

  it('prints a choice and its answer once, although the history repeats them in an older state', async () => {
    let context: ScriptContext | undefined;
    const offerCard: Script = (one) => {
      context = one;
      one.store([message(cardMessage(null, 3))]);
      begin(one);
      one.emit('message.new', liveMessage(cardMessage(null, 3)));
      finish(one, 'Choose.', 'delivered');
    };
    const stdin = new PassThrough();
    let subscriptions = 0;
    const { url } = await fakeUswarm(offerCard, {
      onPost(_path, _body, emit) {
        emit('message.updated', liveMessage(cardMessage('b', 5)));
        emit('message.new', liveMessage(choice(40)));
        emit('message.new', liveMessage({ id: id(41) }));
        stream({ emit } as ScriptContext, ['Good '], id(41));
        context?.store([
          message({ id: id(41), position: position(41) }),
          message(choice(40)),
          message(cardMessage(null, 3)),
        ]);
      },
      onSubscribe(emit) {
        subscriptions += 1;
        if (subscriptions === 2) emit('message.updated', liveMessage(cardMessage('b', 5)));
      },
      onList(emit) {
        if (subscriptions === 2) finish({ emit }, 'Good choice.', 'delivered', id(41));
      },
    });
    const running = chatWithInput(url, [], stdin);
    stdin.write('Which?\n2\n');
    await running.printed('Manager: Good ');
    context?.socket.conn.close();
    stdin.end();
    const { code, out } = await running.ended;
    expect(code).toBe(0);
    expect(withoutNotes(out)).toBe(
      '? Which one?\n  [1] The first\n  [2] The second\nManager: Choose.\n' +
        '✓ Which one? You chose: The second\nManager: Good \nchoice.\n',
    );
  });
});

describe('a transcript of messages that are listed after missed events', () => {
  const listed: MessageData[] = [
    message(answer(41, 'Good choice.')),
    message(choice(40)),
    message(cardMessage('b', 5)),
    message({ ...answer(11, 'Because.') }),
  ];
  const question = { role: 'user', agent: null, status: 'read' } as const;
  const events = [
    created(30, choiceCard(null), { rev: 3 }),
    loading,
    ...ended('Because.', 'delivered'),
    updated(30, choiceCard('b'), { rev: 5 }),
    created(40, textContent('The second'), question),
    created(41, { type: 'loading' }, { status: 'pending' }),
    chunk('Good', 1, { last: 41 }),
  ];
  const whole =
    '? Which one?\n  [1] The first\n  [2] The second\nManager: Because.\n' +
    '✓ Which one? You chose: The second\nManager: Good choice.\n';

  it('shows everything once, whichever events the client had and however often they are listed', () => {
    // The first answer was printed before the connection was lost.
    for (let received = 4; received <= events.length; received += 1) {
      const text = transcript((renderer) => {
        turn(...events.slice(0, received))(renderer);
        renderer.messages(listed, id(40));
        renderer.messages(listed, id(40));
        for (const one of [...events.slice(received), ...ended('Good choice.', 'delivered', null, 41)])
          renderer.event(one);
      });
      expect(text).toBe(whole);
    }
  });

  it('shows a message that another device sends later, although its text is the label of an action', () => {
    const text = transcript((renderer) => {
      turn(...events)(renderer);
      renderer.messages(listed, id(40));
      renderer.event(created(50, textContent('The second'), question));
    });
    expect(text).toBe(`${whole}you: The second\n`);
  });

  it('does not show an open card again if the list is older than the choice', () => {
    const old = [message(cardMessage(null, 3))];
    const text = transcript((renderer) => {
      turn(...events)(renderer);
      renderer.messages(old, id(30));
    });
    expect(text).toBe(whole.replace(' choice.\n', ''));
  });

  it('does not show a deleted message again if the list is older than the deletion', () => {
    const text = transcript((renderer) => {
      turn(created(30, choiceCard(null), { rev: 3 }), deleted(id(30)))(renderer);
      renderer.messages([message(cardMessage(null, 3))], id(30));
    });
    expect(text).toBe('? Which one?\n  [1] The first\n  [2] The second\n· a message was deleted\n');
  });
});
