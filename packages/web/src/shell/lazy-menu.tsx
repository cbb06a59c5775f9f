import { useState, type ComponentProps } from 'react';
import { Boundary } from '../ui/boundary.js';
import type { Menu } from '../ui/menu.js';
import { part } from '../ui/part.js';

const Loaded = part(async () => ({ default: (await import('../ui/menu.js')).Menu }));

/** Loads its code when first opened, because each screen has the header. */
export function LazyMenu(props: ComponentProps<typeof Menu>) {
  const [wanted, setWanted] = useState(false);
  const button = (onClick: () => void) => (
    <button type="button" aria-label={props.label} aria-haspopup="menu" className={props.className} onClick={onClick}>
      {props.trigger}
    </button>
  );
  if (!wanted) return button(() => setWanted(true));
  return (
    <Boundary waiting={button(() => undefined)} instead={button(() => location.reload())}>
      <Loaded {...props} open />
    </Boundary>
  );
}
