/** Scheduled messages. */

import type { Conversation, Scheduled, SendMessage } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { full } from "../../i18n/format.js";
import { knownError, t } from "../../i18n/index.js";
import { titleOf } from "../../model/session.js";
import { attempt, toast } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { IconButton } from "../icon.js";
import { Modal } from "../modal.js";
import { useLoaded } from "./loaded.js";
import { closeDialog } from "./state.js";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

export function ScheduledMessages() {
  const session = useSession();
  const list = useLoaded(() => session.http.personal.scheduled(), [session.own.scheduledChanges.value]);
  const edited = useSignal<Scheduled | undefined>(undefined);
  const deal = async (done: Promise<unknown>) => {
    await attempt(done);
    list.reload();
  };
  return (
    <Modal title={t("account.scheduled")} onClose={closeDialog}>
      {list.value?.scheduled.length === 0 && <p class="quiet-text">{t("scheduled.empty")}</p>}
      <ul class="lines">
        {list.value?.scheduled.map((scheduled) => {
          const conversation = session.inbox.watch(scheduled.conversation_id);
          return (
            <li class="line" key={scheduled.id}>
              {edited.value?.id === scheduled.id ? (
                <EditScheduled
                  scheduled={scheduled}
                  onDone={() => {
                    edited.value = undefined;
                    list.reload();
                  }}
                />
              ) : (
                <>
                  <span class="line-main">
                    <span class="quiet-text">
                      <bdi>{conversation ? titleOf(conversation) : ""}</bdi> · {full(scheduled.send_at)}
                    </span>
                    <span dir="auto">
                      {scheduled.message.text ??
                        (scheduled.message.forwarded_from && t("message.forwarding"))}
                    </span>
                    {scheduled.failed && (
                      <span class="problem">{knownError(scheduled.failed) ?? t("scheduled.failed")}</span>
                    )}
                  </span>
                  <IconButton
                    icon="send"
                    label={t("scheduled.send_now")}
                    onClick={() => void deal(session.http.personal.sendScheduled(scheduled.id))}
                  />
                  <IconButton
                    icon="edit"
                    label={t("message.edit")}
                    onClick={() => (edited.value = scheduled)}
                  />
                  <IconButton
                    icon="trash"
                    label={t("scheduled.cancel")}
                    onClick={() => void deal(session.http.personal.cancelScheduled(scheduled.id))}
                  />
                </>
              )}
            </li>
          );
        })}
      </ul>
    </Modal>
  );
}

function EditScheduled({ scheduled, onDone }: { scheduled: Scheduled; onDone: () => void }) {
  const session = useSession();
  const field = useRef<HTMLTextAreaElement>(null);
  // The button that opened this form is gone.
  useEffect(() => field.current?.focus(), []);
  const text = useSignal(scheduled.message.text ?? "");
  const at = useSignal(localTime(Date.parse(scheduled.send_at)));
  const save = async (event: Event) => {
    event.preventDefault();
    const update = { text: text.value.trim(), send_at: new Date(at.value).toISOString() };
    if (await attempt(session.http.personal.updateScheduled(scheduled.id, update))) {
      onDone();
    }
  };
  return (
    <form class="line-main" onSubmit={(event) => void save(event)}>
      <textarea
        ref={field}
        rows={2}
        dir="auto"
        required
        aria-label={t("composer.placeholder")}
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
      <WhenField value={at.value} onChange={(next) => (at.value = next)} />
      <div class="button-row">
        <button type="button" class="button" onClick={onDone}>
          {t("action.cancel")}
        </button>
        <button type="submit" class="button primary">
          {t("action.save")}
        </button>
      </div>
    </form>
  );
}

interface ScheduleProps {
  conversation: Conversation;
  message: SendMessage;
  onDone: () => void;
}

/** Schedules the message that was just written. */
export function Schedule({ conversation, message, onDone }: ScheduleProps) {
  const session = useSession();
  const at = useSignal(localTime(Date.now() + HOUR_MS));
  const save = async (event: Event) => {
    event.preventDefault();
    const body = { conversation_id: conversation.id, message, send_at: new Date(at.value).toISOString() };
    if (await attempt(session.http.personal.schedule(body))) {
      closeDialog();
      onDone();
      toast(t("scheduled.saved", { when: full(body.send_at) }));
    }
  };
  return (
    <Modal title={t("composer.schedule")} onClose={closeDialog}>
      <form onSubmit={(event) => void save(event)}>
        <p class="schedule-text" dir="auto">
          {message.text}
        </p>
        <WhenField value={at.value} onChange={(next) => (at.value = next)} />
        <button type="submit" class="button primary">
          {t("composer.schedule")}
        </button>
      </form>
    </Modal>
  );
}

function WhenField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <label class="field">
      <span>{t("scheduled.when")}</span>
      <input
        type="datetime-local"
        required
        value={value}
        min={localTime(Date.now() + MINUTE_MS)}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

/** The local time to the minute, in the format of a `datetime-local` field. */
function localTime(ms: number): string {
  const offsetMs = new Date(ms).getTimezoneOffset() * MINUTE_MS;
  return new Date(ms - offsetMs).toISOString().slice(0, 16);
}
