import { useState } from 'react';
import { Link } from 'wouter';
import { PanelFrame, Show } from '../screen/screen.js';
import { panel } from '../session/pages.js';
import { useLoaded } from '../session/use-client.js';
import { Field } from '../ui/field.js';
import { Form } from '../ui/form.js';
import { RelativeTime } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { excerptOf } from './excerpt.js';

/** Finds messages that are not loaded, too. */
export function SearchPanel(place: { workspaceId: string; conversationId: string }) {
  const [words, setWords] = useState('');
  return (
    <PanelFrame title="Search">
      <Form role="search" onSubmit={(form) => setWords(String(form.get('words')).trim())}>
        <Field label="Words in this conversation" name="words" type="search" maxLength={256} autoFocus />
      </Form>
      {words !== '' && <Hits {...place} words={words} />}
    </PanelFrame>
  );
}

function Hits({ workspaceId, conversationId, words }: { workspaceId: string; conversationId: string; words: string }) {
  const route = '/v1/workspaces/{workspaceId}/conversations/{id}/messages/search';
  const loaded = useLoaded(`${conversationId} ${words}`, (client, signal) =>
    client.api.get(route, { path: { workspaceId, id: conversationId }, query: { q: words }, signal }),
  );
  return (
    <Show loaded={loaded} what="messages">
      {({ data }) => (
        <>
          <p role="status">{data.length === 0 ? 'No message contains all of these words.' : `${data.length} found`}</p>
          <ul>
            {data.map((message) => (
              <li key={message.id}>
                <Link
                  className={ui('item block')}
                  href={`${isBeside() ? `${panel.search}&` : '?'}message=${message.id}`}
                >
                  <strong>{message.role === 'user' ? 'You' : (message.agent?.name ?? 'uswarm')}</strong>{' '}
                  <small>
                    <RelativeTime at={message.created_at} />
                  </small>
                  <span className={ui('block lead')}>{excerptOf(message.content, words)}</span>
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
    </Show>
  );
}

/** On small screens, the panel covers the conversation. */
const isBeside = (): boolean => matchMedia('(min-width: 861px)').matches;
