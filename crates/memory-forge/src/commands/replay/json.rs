//! A replay as JSON, with every push and every need.

use forge_app::replay;
use serde_json::{Map, Value, json};

pub(super) fn report_json(report: &replay::ReplayReport) -> Value {
    let by_key: Map<String, Value> = report
        .by_key
        .iter()
        .map(|(key, it)| ((*key).to_owned(), counts_json(it)))
        .collect();
    let sessions: Vec<Value> = report
        .sessions
        .iter()
        .map(|it| {
            let counts = counts_json(&it.counts);
            json!({
                "session": it.number, "id": it.id,
                "path": it.path.display().to_string(), "started": it.started,
                "moments": it.moments, "counts": counts,
            })
        })
        .collect();
    let pushes: Vec<Value> = report
        .pushes
        .iter()
        .map(|it| {
            place_json(
                it.place,
                json!({
                    "key": it.key, "item": it.item, "text": it.text, "tokens": it.tokens,
                    "right": it.is_right, "contradicted": it.is_contradicted,
                    "steps_saved": it.steps_saved, "turns_saved": it.turns_saved,
                }),
            )
        })
        .collect();
    let missed: Vec<Value> = report
        .missed()
        .map(|it| {
            place_json(
                it.place,
                json!({
                    "key": it.key, "needs": it.what, "late": it.timing == replay::NeedTiming::Late,
                    "silences": it.silences,
                    "nearest": it.nearest.as_ref().map(|it| &it.text),
                }),
            )
        })
        .collect();
    let skipped: Vec<Value> = report
        .skipped
        .iter()
        .map(|it| json!({ "path": it.path.display().to_string(), "reason": it.reason }))
        .collect();
    let items = report.items();
    let item_rows: Vec<Value> = items
        .iter()
        .map(|it| json!({ "item": it.item, "key": it.key, "counts": counts_json(&it.counts) }))
        .collect();
    let right_items = items
        .iter()
        .filter(|it| it.counts.right == it.counts.pushes)
        .count();
    let total = report.total();
    let precision = (total.pushes >= replay::MIN_PUSHES_FOR_SHARES).then(|| {
        let interval = |(low, high)| json!([thousandths(low), thousandths(high)]);
        json!({
            "share": thousandths(total.right * 1000 / total.pushes),
            "interval": interval(replay::share_interval(total.right, total.pushes)),
            "interval_by_item": interval(replay::resampled_interval(&items)),
        })
    });
    json!({
        "version": 1, "files": report.files, "copies": report.copies, "skipped": skipped,
        "sessions": report.sessions.len(), "moments": report.moments(), "tokens": total.tokens,
        "total": counts_json(&total), "precision": precision, "by_key": by_key,
        "items": items.len(), "right_items": right_items,
        "by_item": item_rows, "by_session": sessions, "pushes": pushes, "missed": missed,
    })
}

fn thousandths(value: usize) -> f64 {
    value as f64 / 1000.0
}

fn counts_json(it: &replay::ReplayCounts) -> Value {
    json!({
        "pushes": it.pushes, "right": it.right, "contradicted": it.contradicted,
        "needs": it.needs, "met": it.met, "late": it.late,
        "steps_saved": it.steps_saved, "turns_saved": it.turns_saved, "tokens": it.tokens,
    })
}

/// Returns an object with its place first.
fn place_json(place: replay::ReplayPlace, fields: Value) -> Value {
    let mut object = Map::new();
    object.insert("session".to_owned(), place.session.into());
    object.insert("step".to_owned(), place.step.into());
    object.insert("line".to_owned(), place.line.into());
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    Value::Object(object)
}
