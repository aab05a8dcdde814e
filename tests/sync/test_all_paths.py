"""Every path of every change is read, however many there are; where a forge lists fewer than there are, sync says so."""


def files(count):
    return [("modified", f"src/part_{number:05}.py") for number in range(count)]


def stored(lab):
    return lab.value("SELECT count(*) FROM item_files")


def test_a_change_of_a_thousand_files_has_all_of_them(lab):
    lab.project.add_change("wide", files=files(1_000))
    result = lab.sync()
    lab.assert_same()
    assert (stored(lab), result.warnings) == (1_000, [])


def test_three_thousand_files_are_read_to_the_last_page(github):
    github.project.add_change("wide", files=files(3_000))
    assert github.sync().warnings == []
    github.assert_same()
    assert stored(github) == 3_000


def test_a_list_that_github_cuts_is_told_with_both_numbers(github):
    github.project.add_change("small", files=files(2))
    change = github.project.add_change("monster", files=files(3_100))
    expected = [f"the forge does not list all files of change {change} (3,000 of 3,100)"]
    assert github.sync().warnings == expected
    assert stored(github) == 3_002
    github.time.pass_by(600)
    assert github.sync().warnings == []  # nothing of it was read again


def test_without_a_token_a_cut_list_is_told_too(github):
    github.project.add_change("monster", files=files(3_100))
    result = github.sync(app=github.new_app(token=""))
    assert "the forge does not list all files of change 1 (3,000 of 3,100)" in result.warnings


def test_a_list_that_github_refuses_is_told_as_cut(github):
    github.project.add_change("huge", files=[("renamed", "a", "b")])
    github.server.fail(path=r"/pulls/1/files", status=422, body={"message": "too large"})
    assert github.sync().warnings == ["the forge does not list all files of change 1 (0 of 1)"]


def test_files_beyond_what_a_gitlab_server_keeps_are_told(gitlab):
    for _ in range(2):
        gitlab.project.add_change("monster", files=files(1_100))
    told = "the forge does not list all files of 2 changes; the first is change 1 (1,000 of 1,001)"  # it says "1000+"
    assert gitlab.sync().warnings == [told]
    assert stored(gitlab) == 2_000


def test_only_long_lists_cost_a_request_more_on_gitlab(gitlab):
    for count in (1, 99, 100):
        gitlab.project.add_change("work", files=files(count))
    gitlab.sync()
    counted = [
        path for path in gitlab.server.paths() if path.endswith(tuple(f"/merge_requests/{n}" for n in (1, 2, 3)))
    ]
    assert [path.rpartition("/")[2] for path in counted] == ["3"]
