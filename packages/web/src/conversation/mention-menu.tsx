import type { AgentSummary } from '@uswarm/client';
import type { KeyboardEvent, RefObject } from 'react';
import { MenuParts as Menu } from '../ui/menu.js';
import styles from '../ui/overlay.module.css';
import { ui } from '../ui/ui.js';

interface Props {
  offered: AgentSummary[];
  input: RefObject<HTMLTextAreaElement | null>;
  type: (key: string) => void;
  pick: (slug: string) => void;
  close: () => void;
}

/** Typing on narrows the list of agents. */
export default function MentionMenu({ offered, input, type, pick, close }: Props) {
  const [first] = offered;
  function onKey(event: KeyboardEvent): void {
    const { key, ctrlKey, metaKey, nativeEvent } = event;
    const hasItem = document.activeElement?.role === 'menuitem';
    const isText = (key.length === 1 || key === 'Backspace') && !ctrlKey && !metaKey && !nativeEvent.isComposing;
    if (isText) type(key);
    else if ((key === 'Enter' || key === 'Tab') && !hasItem && first) pick(first.slug);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  return (
    <Menu.Root open onOpenChange={(open) => open || close()}>
      <Menu.Portal>
        <Menu.Positioner anchor={input} side="top" align="start" sideOffset={6}>
          <Menu.Popup
            className={ui('card', styles['popup'])}
            aria-label="Agents"
            finalFocus={input}
            onKeyDownCapture={onKey}
          >
            {offered.map(({ id, name, slug }) => (
              <Menu.Item key={id} className={ui('item')} onClick={() => pick(slug)}>
                {name} <small>@{slug}</small>
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
