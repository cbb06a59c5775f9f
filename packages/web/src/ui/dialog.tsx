import { type ComponentProps, type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react';
import { Button } from './button.js';
import { Form } from './form.js';
import styles from './overlay.module.css';
import { ui } from './ui.js';
import { Problem } from './parts.js';

interface DialogProps {
  title: string;
  description?: ReactNode;
  children?: ReactNode;
  onClose: () => void;
}
/** Open while rendered. Without children, it has only a message. The browser keeps the focus inside, and returns it. */
export function Dialog({ title, description, children, onClose }: DialogProps) {
  const [name, text] = [useId(), useId()];
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // Removing an open dialog would not return the focus.
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={ui('card', styles['dialog'])}
      aria-labelledby={name}
      aria-describedby={description === undefined ? undefined : text}
      {...{ closedby: 'any' }}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={name}>{title}</h2>
      {description !== undefined && <p id={text}>{description}</p>}
      {children ?? (
        <Actions>
          <Button onClick={onClose}>Close</Button>
        </Actions>
      )}
    </dialog>
  );
}

const Actions = ({ children }: { children: ReactNode }) => <div className={ui('row end')}>{children}</div>;

interface FormDialogProps extends DialogProps {
  /** Button labels. */
  keep?: string;
  action?: string;
  isDangerous?: boolean;
  isDisabled?: boolean;
  /** Receives the fields by name. If it fails, the dialog stays open and shows the error. */
  onSubmit: (values: FormData) => unknown;
}
export function FormDialog(props: FormDialogProps) {
  const { children, onSubmit, keep = 'Cancel', action = 'Save', isDangerous, isDisabled, ...dialog } = props;
  const [state, setState] = useState<{ busy: boolean; problem?: string }>({ busy: false });
  async function submit(values: FormData): Promise<void> {
    setState({ busy: true });
    try {
      await onSubmit(values);
    } catch (error) {
      setState({ busy: false, problem: error instanceof Error ? error.message : String(error) });
    }
  }
  return (
    <Dialog {...dialog}>
      <Form className={ui('stack')} onSubmit={(values) => void submit(values)}>
        {children}
        {state.problem !== undefined && <Problem>{state.problem}</Problem>}
        <Actions>
          <Button onClick={dialog.onClose}>{keep}</Button>
          <Button type="submit" look={isDangerous ? 'danger' : 'primary'} disabled={state.busy || isDisabled}>
            {action}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  );
}

/** Asks before something is lost. `keep` labels the way out. */
export const Confirm = ({ onConfirm, ...props }: Omit<FormDialogProps, 'onSubmit'> & { onConfirm: () => unknown }) => (
  <FormDialog {...props} isDangerous onSubmit={onConfirm} />
);

/** Asks before it acts. */
export const ConfirmButton = ({ confirm, ...props }: ConfirmButtonProps) => (
  <DialogButton look="danger" {...props} dialog={(close) => <Confirm {...confirm} onClose={close} />} />
);
type ConfirmButtonProps = ComponentProps<typeof Button> & { confirm: Omit<ComponentProps<typeof Confirm>, 'onClose'> };

type DialogButtonProps = ComponentProps<typeof Button> & { dialog: (close: () => void) => ReactNode };
export function DialogButton({ dialog, ...props }: DialogButtonProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button {...props} onClick={() => setOpen(true)} />
      {isOpen && dialog(() => setOpen(false))}
    </>
  );
}
