import type { components, ShownMessage } from '@uswarm/client';
import { Fragment } from 'react';
import { closedText } from '../session/open-cards.js';
import { Button } from '../ui/button.js';
import { Badge } from '../ui/parts.js';
import { Form } from '../ui/form.js';
import { ui } from '../ui/ui.js';
import { CardField } from './card-field.js';
import styles from './message.module.css';
import { APPROVE, factsOf, useChoice } from './use-choice.js';
import { visibleText } from './visible-text.js';

type Content = components['schemas']['ActionCardContent'];
const LOOKS = { primary: 'primary', destructive: 'danger', secondary: undefined } as const;
/** A question with buttons. If it asks to approve a call, its description shows the call's effect in full. */
export function Card(props: { shown: Pick<ShownMessage, 'id' | 'message'>; content: Content; heading?: 'h2' | 'h3' }) {
  const { shown, content, heading: Heading = 'h3' } = props;
  const { pressed, send, allowAlways, chosenHere, isBusy, refusal } = useChoice(shown, content);
  const chosen = content.actions.find(({ id }) => id === content.selected_action_id);
  const withdrawn = shown.message?.error;
  const isOpen = chosen === undefined && !withdrawn && refusal === undefined;
  const facts = factsOf(content, isOpen);
  const { title, form: fields = [], open_url: url } = content;
  const outcome = chosen && (chosenHere === chosen.id ? `You chose: ${chosen.label}` : `Chosen: ${chosen.label}`);
  return (
    <section className={ui('card', styles['narrow'])} data-open={isOpen || undefined} data-card aria-label={title}>
      <header className={ui('row between')}>
        <Heading>{visibleText(title)}</Heading>
        {isOpen && <Badge tone="attention">Waits for you</Badge>}
      </header>
      {facts !== '' && <p className={ui('lead')}>{facts}</p>}
      {content.description !== '' && <p className={ui('plain')}>{visibleText(content.description)}</p>}
      {isOpen && url && (
        <a href={url} target="_blank" rel="noreferrer noopener">
          {url}
        </a>
      )}
      {isOpen && (
        <Form className={ui('stack')} onSubmit={(entered) => send(entered)}>
          {fields.map((field) => (
            <CardField key={field.name} field={field} />
          ))}
          <div className={ui('row')}>
            {content.actions.map(({ id, label, style }) => (
              <Fragment key={id}>
                <Button look={LOOKS[style]} disabled={isBusy} {...pressed(id)}>
                  {label}
                </Button>
                {id === APPROVE && allowAlways && (
                  <Button disabled={isBusy} onClick={allowAlways}>
                    Allow always
                  </Button>
                )}
              </Fragment>
            ))}
          </div>
        </Form>
      )}
      {!isOpen && (
        <p className={ui('lead')} role="status">
          {outcome ?? refusal ?? closedText({ content, error: withdrawn ?? null })}
        </p>
      )}
    </section>
  );
}
